export const maxDepth = 32
/** A valid body has 316 at most (docs/decisions/0030-body-guards.md); more than that is let through to be named by field. */
export const maxFields = 10_000

const quote = 0x22
const backslash = 0x5c
const comma = 0x2c
const openBracket = 0x5b
const openBrace = 0x7b

/** The bytes that matter outside of strings. A look-up, as this is asked of each of 25 million. */
const isStructural = new Uint8Array(256)
for (const byte of Buffer.from('"[{,]}')) isStructural[byte] = 1

/** Strings that end within so many bytes are walked through; in longer ones the end is searched for, which is faster. */
const shortStringBytes = 64

export interface LimitedJson {
  /** Without what lay deeper than 32: no field goes that deep, so a schema refuses what held it by its name. */
  json: Buffer
  isTooDeep: boolean
}

/**
 * Looks over JSON before it is parsed: parsing and judging millions of small values takes seconds, in which nobody else
 * gets an answer. What isn't JSON is left for the parser to refuse.
 *
 * @returns undefined where it holds more than `maxFields` fields and items.
 */
export function limitJson(json: Buffer): LimitedJson | undefined {
  const kept: Buffer[] = []
  let keptFrom = 0
  let depth = 0
  let fields = 0
  for (let at = 0; at < json.length; at++) {
    const byte = json[at] as number
    if (isStructural[byte] === 0) continue
    if (byte === quote) at = endOfString(json, at + 1)
    else if (byte === comma) fields += depth <= maxDepth ? 1 : 0
    else if (byte === openBracket || byte === openBrace) {
      depth++
      // What is left out counts as one: each leaves a part of the body to be joined, and there may be millions.
      if (depth <= maxDepth + 1) fields++
      if (depth === maxDepth + 1) kept.push(json.subarray(keptFrom, at))
    } else {
      if (depth === maxDepth + 1) keptFrom = at + 1
      depth--
    }
    if (fields > maxFields) return undefined
  }
  if (kept.length === 0) return { json, isTooDeep: false }
  const rest = depth > maxDepth ? [] : [json.subarray(keptFrom)]
  const inPlace = Buffer.from('0')
  return { json: Buffer.concat([...kept.flatMap((part) => [part, inPlace]), ...rest]), isTooDeep: true }
}

/** Where the quote stands that ends a string, or the end of all. */
function endOfString(json: Buffer, start: number): number {
  let at = start
  while (at < json.length) {
    for (const near = at + shortStringBytes; at < near; at++) {
      if (json[at] === quote) return at
      if (json[at] === backslash) at++
    }
    const next = json.indexOf(quote, at)
    if (next === -1) return json.length
    if (!isEscaped(json, next, at)) return next
    at = next + 1
  }
  return json.length
}

/** @param from where no escape is under way. */
function isEscaped(json: Buffer, at: number, from: number): boolean {
  let backslashes = 0
  while (at - backslashes > from && json[at - backslashes - 1] === backslash) backslashes++
  return backslashes % 2 === 1
}
