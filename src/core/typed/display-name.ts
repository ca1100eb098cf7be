import { isStorable } from '../requests/characters.ts'
import { TypedFault } from './typed-fault.ts'

/** A display name: not empty, on one line. */
export function displayName(text: string): string {
  if (text.trim() === '' || text.length > 256 || /\p{Cc}/u.test(text) || !isStorable(text))
    throw new TypedFault('Use 1 to 256 characters on one line.')
  return text
}
