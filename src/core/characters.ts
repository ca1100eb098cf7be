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

/** Whether PostgreSQL and providers can store the text: without NUL, and without half of a surrogate pair. */
export function isStorable(text: string): boolean {
  return !text.includes('\0') && text.isWellFormed()
}
