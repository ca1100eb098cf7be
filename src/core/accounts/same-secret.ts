import { hash, timingSafeEqual } from 'node:crypto'

/** Compares a given text with a secret. The time it takes depends neither on where they differ nor on their lengths. */
export function isSameSecret(given: string, secret: string): boolean {
  const digest = (text: string) => hash('sha256', text, 'buffer')
  return timingSafeEqual(digest(given), digest(secret))
}
