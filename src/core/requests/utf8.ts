const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

/** The text of bytes; undefined if they aren't UTF-8, such as those of Windows-1252 or UTF-16. */
export function utf8Text(bytes: Uint8Array): string | undefined {
  try {
    return decoder.decode(bytes)
  } catch {
    return undefined
  }
}

/** The first line of bytes that isn't UTF-8, from 1. */
export function firstOddLine(bytes: Buffer): number {
  for (let number = 1, from = 0; ; number++) {
    const found = bytes.indexOf(10, from)
    const end = found < 0 ? bytes.length : found
    if (found < 0 || utf8Text(bytes.subarray(from, end)) === undefined) return number
    from = end + 1
  }
}

/** The fault of a line, and how to fix it. */
export const notUtf8 = 'is not UTF-8; save the file as UTF-8, in a spreadsheet as "CSV UTF-8"'
