/** A name as APIs have them. Another name may be a value in the wrong place, such as a phone number. */
const name = /^[A-Za-z_][A-Za-z0-9_-]{0,39}$/
export const oddName = '(another name)'
const maxDepth = 4
const maxNames = 50
/** Of a list, the first ones. */
const maxItems = 5

/**
 * The names of the fields of a body, with their paths, such as `message.text.value`; never a value. At most 50, and four levels deep.
 */
export function fieldNames(body: unknown): string[] {
  const names = new Set<string>()
  collect(body, '', 1, names)
  return [...names]
}

function collect(value: unknown, path: string, depth: number, names: Set<string>): void {
  if (typeof value !== 'object' || value === null || names.size >= maxNames) return
  if (Array.isArray(value)) {
    for (const item of value.slice(0, maxItems)) collect(item, `${path}[]`, depth, names)
    return
  }
  for (const key in value) {
    if (names.size >= maxNames) return
    const own = shownName(key)
    const at = path === '' ? own : `${path}.${own}`
    names.add(at)
    if (depth < maxDepth) collect((value as Record<string, unknown>)[key], at, depth + 1, names)
  }
}

/** The names of the parameters of a query, each with a question mark before it. */
export function parameterNames(query: string): string[] {
  const names = [...new URLSearchParams(query).keys()].slice(0, maxNames)
  return [...new Set(names.map((key) => `?${shownName(key)}`))]
}

const shownName = (key: string) => (name.test(key) ? key : oddName)
