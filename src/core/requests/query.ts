import { z } from 'zod'
import { describeIssues } from './issues.ts'
import { quotedName } from './quoted-name.ts'

export const pageLimits = { min: 1, max: 100, byDefault: 20 }

/** A parameter of a query: its form, and what it says. OpenAPI is made of it. */
export interface QueryParameter {
  schema: z.ZodType
  what: string
  /** Whether a request without it is refused. */
  isRequired?: true
}

type Outputs<Parameters extends Record<string, QueryParameter>> = {
  [Name in keyof Parameters]?: z.output<Parameters[Name]['schema']> | undefined
}

/**
 * A text that is parsed.
 *
 * @param wanted what it has to be, for the client.
 * @param meta what OpenAPI says of its form.
 */
export const parsedText = <Value>(
  parse: (text: string) => Value | undefined,
  wanted: string,
  meta: Record<string, unknown> = {},
) =>
  // On the text itself: zod leaves out the default and the examples of what is parsed.
  z
    .string()
    .meta(meta)
    .transform((text, context) => {
      const value = parse(text)
      if (value !== undefined) return value
      context.addIssue({ code: 'custom', message: wanted })
      return z.NEVER
    })

export const oneOf = <Word extends string>(words: readonly Word[]) =>
  z.enum(words, `has to be one of ${words.join(', ')}`)

/** @param items what the list has, such as `sends`. */
export const limitParameter = (items: string) => ({
  schema: parsedText(
    (text) => (/^[1-9]\d?$|^100$/.test(text) ? Number(text) : undefined),
    `has to be a whole number from ${pageLimits.min} to ${pageLimits.max}`,
    { type: 'integer', minimum: pageLimits.min, maximum: pageLimits.max, default: pageLimits.byDefault },
  ),
  what: `How many ${items} a page has at most.`,
})

/** @param read reads what the list wrote as `next`; undefined for any other text. */
export const afterParameter = <Place>(read: (text: string) => Place | undefined) => ({
  schema: parsedText(read, 'has to be the `next` of a page'),
  what: 'The `next` of the page before.',
})

/** Why a query is refused. */
interface QueryIssue {
  issue: string
  /** For the log: without text of the client. */
  reason: string
}

/** Creates the reader of a query. Its `issue` names each parameter that is unknown, repeated or unreadable. */
export function createReadQuery<Parameters extends Record<string, QueryParameter>>(parameters: Parameters) {
  const schema = z.strictObject(
    Object.fromEntries(Object.entries(parameters).map(([name, { schema }]) => [name, schema.optional()])),
  )
  const shownName = (name: string, clientsText: 'given' | 'left out') =>
    clientsText === 'given' || Object.hasOwn(parameters, name) ? quotedName(name) : 'query'
  return (query: URLSearchParams): { query: Outputs<Parameters> & { limit: number } } | QueryIssue => {
    const repeated = [...new Set(query.keys())].filter((name) => query.getAll(name).length > 1)
    const { data, error } = schema.safeParse(Object.fromEntries(query))
    const issuesWith = (clientsText: 'given' | 'left out') => [
      ...(error
        ? [describeIssues(error.issues, clientsText).replaceAll('unknown field', 'unknown parameter')]
        : []),
      ...repeated.map((name) => `${shownName(name, clientsText)}: given more than once`),
    ]
    const line = (issues: string[]) => issues.slice(0, maxIssues).join('; ')
    const issues = issuesWith('given')
    if (!data || issues.length > 0) return { issue: line(issues), reason: line(issuesWith('left out')) }
    return { query: { limit: pageLimits.byDefault, ...(data as Outputs<Parameters>) } }
  }
}

const maxIssues = 10
