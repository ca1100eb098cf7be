export const maxDepth = 32
/** A valid body has at most 431 (docs/decisions/0030-body-limits.md). The limit is higher, so that the schema can name the faulty fields. */
export const maxFields = 10_000
/** The limit of a batch, of which a valid one has at most 43,201. */
export const maxFieldsOfBatch = 50_000

const quote = 0x22
const backslash = 0x5c
const comma = 0x2c
const openBracket = 0x5b
const openBrace = 0x7b

/** The bytes that matter outside strings. A look-up table, because up to 25 million bytes are checked. */
const isStructural = new Uint8Array(256)
for (const byte of Buffer.from('"[{,]}')) isStructural[byte] = 1

/** The end of a string is looked for byte by byte up to this length, and beyond it by `indexOf`, which is faster for long ones. */
const shortStringBytes = 64

export interface LimitedJson {
  /** Without values nested deeper than 32. No valid field is that deep, so the schema refuses the field around them by its name. */
  json: Buffer
  isTooDeep: boolean
}

/**
 * Limits JSON before it is parsed, because parsing and validating millions of small values would block the process for
 * seconds. Invalid JSON is left for the parser to refuse.
 *
 * @param limit of its fields and items.
 * @returns undefined if it has more.
 */
export function limitJson(json: Buffer, limit = maxFields): LimitedJson | undefined {
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
      // A removed value counts as one field, because each leaves a part to be joined, and there may be millions.
      if (depth <= maxDepth + 1) fields++
      if (depth === maxDepth + 1) kept.push(json.subarray(keptFrom, at))
    } else {
      if (depth === maxDepth + 1) keptFrom = at + 1
      depth--
    }
    if (fields > limit) return undefined
  }
  if (kept.length === 0) return { json, isTooDeep: false }
  const rest = depth > maxDepth ? [] : [json.subarray(keptFrom)]
  const inPlace = Buffer.from('0')
  return { json: Buffer.concat([...kept.flatMap((part) => [part, inPlace]), ...rest]), isTooDeep: true }
}

/** The position of the quote that ends a string, or the end of the JSON. */
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

/** @param from a position that is not within an escape sequence. */
function isEscaped(json: Buffer, at: number, from: number): boolean {
  let backslashes = 0
  while (at - backslashes > from && json[at - backslashes - 1] === backslash) backslashes++
  return backslashes % 2 === 1
}
