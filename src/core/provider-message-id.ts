import { isStorable } from './characters.ts'

const leastCharacters = 4
const mostCharacters = 512

/**
 * The ids by which a provider may know a message, in whatever was pasted: it as it is, and without what a log or a mail
 * puts around one. None where it is more than one word.
 */
export function providerMessageIdsIn(pasted: string): string[] {
  const text = pasted.trim()
  const bare = text.replace(/^["'“<([{]+/, '').replace(/["'”>)\]},.;]+$/, '')
  return [...new Set([text, bare])].filter(
    (id) => id.length >= leastCharacters && id.length <= mostCharacters && !/\s/.test(id) && isStorable(id),
  )
}
