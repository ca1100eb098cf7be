import { InvalidArgumentError } from 'commander'

/** A display name: not empty, on one line. */
export function name(text: string): string {
  if (text.trim() === '' || text.length > 256 || /\p{Cc}/u.test(text)) {
    throw new InvalidArgumentError('Use 1 to 256 characters on one line.')
  }
  return text
}
