import { messageTypes } from '../messages/message.ts'

/** A name as APIs have them. Another one may be a value in the wrong place, such as a phone number. */
const usual = /^[A-Za-z_][A-Za-z0-9_-]{0,39}$/
export const oddName = '(another name)'
const maxDepth = 4
const maxNames = 50
/** So many items of a list are read. */
const maxItems = 5
const maxValues = 200
/** A shorter value is in many names by chance. */
const shortestValue = 3

/**
 * The names of the fields of a body, with their paths, such as `message.text.value`: at most 50, and four levels deep. Never a
 * value, nor a name that has a value of the same body in it.
 */
export function fieldNames(body: unknown): string[] {
  const values: string[] = []
  collectValues(body, values)
  const names = new Set<string>()
  collectNames(body, { path: '', depth: 1, names, values })
  return [...names]
}

/** Fields whose entries have names of the client's own (entries.ts). */
const ofOwnNames: ReadonlySet<string> = new Set(['metadata', 'tags'])

interface Collecting {
  path: string
  depth: number
  names: Set<string>
  values: readonly string[]
}

function collectNames(value: unknown, { path, depth, names, values }: Collecting): void {
  if (typeof value !== 'object' || value === null) return
  if (Array.isArray(value)) {
    for (const item of value.slice(0, maxItems))
      collectNames(item, { path: `${path}[]`, depth, names, values })
    return
  }
  for (const [key, own] of Object.entries(value)) {
    if (names.size >= maxNames) return
    const at = path === '' ? shown(key, values) : `${path}.${shown(key, values)}`
    names.add(at)
    if (depth < maxDepth && !ofOwnNames.has(key))
      collectNames(own, { path: at, depth: depth + 1, names, values })
  }
}

function collectValues(value: unknown, values: string[]): void {
  if (values.length >= maxValues) return
  if (typeof value === 'object' && value !== null) {
    for (const item of Object.values(value)) collectValues(item, values)
  } else if (String(value).length >= shortestValue) values.push(String(value).toLowerCase())
}

/** The names of the parameters of a query, each with a question mark before it. */
export function parameterNames(query: string): string[] {
  const parameters = [...new URLSearchParams(query)].slice(0, maxNames)
  const values = parameters
    .map(([, value]) => value.toLowerCase())
    .filter((value) => value.length >= shortestValue)
  return [...new Set(parameters.map(([key]) => `?${shown(key, values)}`))]
}

/** The value of `message.type` is the name of a field, too. */
function shown(name: string, values: readonly string[]): string {
  if (messageTypes.some((type) => type === name)) return name
  const lower = name.toLowerCase()
  return usual.test(name) && !values.some((value) => lower.includes(value)) ? name : oddName
}
