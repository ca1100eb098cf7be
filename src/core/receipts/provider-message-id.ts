import { isStorable } from '../requests/characters.ts'

const leastCharacters = 4
const maxCharacters = 512

/**
 * The provider's message ids that a pasted text may be: the text itself, and without surrounding quotes or brackets. None if it
 * is more than one word.
 */
export function providerMessageIdsIn(pasted: string): string[] {
  const text = pasted.trim()
  const bare = text.replace(/^["'“<([{]+/, '').replace(/["'”>)\]},.;]+$/, '')
  return [...new Set([text, bare])].filter(
    (id) => id.length >= leastCharacters && id.length <= maxCharacters && !/\s/.test(id) && isStorable(id),
  )
}
