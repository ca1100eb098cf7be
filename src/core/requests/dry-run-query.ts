import { oneOf, type QueryParameter } from './query.ts'

const name = 'dryRun'
const words = ['true', 'false'] as const

/** The parameter of the routes that send (docs/reference/api.md#dry-runs). */
export const dryRunParameters = {
  [name]: {
    schema: oneOf(words),
    what: '`true` answers what would become of the message, and sends nothing. Default: `false`.',
  },
} satisfies Record<string, QueryParameter>

/** A name that is meant to be it: a dry run with a mistyped name would send. */
const isMistyped = (given: string) =>
  given !== name && given.replaceAll(/[-_\s]/g, '').toLowerCase() === name.toLowerCase()

/** Whether the address of a request asks for a dry run. Other parameters are ignored, as they always were. */
export function readDryRun(url: string): { isDryRun: boolean } | { issue: string } {
  const start = url.indexOf('?')
  if (start < 0) return { isDryRun: false }
  const query = new URLSearchParams(url.slice(start))
  if ([...query.keys()].some(isMistyped)) return { issue: `query: write ${name}, with a capital R alone` }
  const [word, another] = query.getAll(name)
  if (another !== undefined) return { issue: `${name}: given more than once` }
  if (word === undefined || word === 'false') return { isDryRun: false }
  return word === 'true' ? { isDryRun: true } : { issue: `${name}: has to be one of ${words.join(', ')}` }
}
