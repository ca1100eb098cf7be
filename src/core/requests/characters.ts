/** Counts code points, so that an emoji outside the BMP counts once. */
function countCharacters(text: string): number {
  let count = 0
  for (const _ of text) count++
  return count
}

export function isLongerThan(text: string, maxCharacters: number): boolean {
  if (text.length <= maxCharacters) return false
  return text.length > maxCharacters * 2 || countCharacters(text) > maxCharacters
}

/** White space and direction marks of Unicode, zero-width characters, and the byte order mark, for a character class. */
export const blanks = String.raw`\t-\r \u0085\u00a0\u061c\u1680\u180e\u2000-\u200f\u2028-\u202f\u205f-\u206f\u3000\ufeff`

/** Whether PostgreSQL and providers can store the text: without NUL, and without half of a surrogate pair. */
export function isStorable(text: string): boolean {
  return !text.includes('\0') && text.isWellFormed()
}
