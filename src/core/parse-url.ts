/**
 * Undefined where it is no URL. `URL.canParse` can't tell: in Node 20, once it has been called some thousands of times, it
 * refuses what holds letters such as ü.
 */
export function parseUrl(text: string): URL | undefined {
  try {
    return new URL(text)
  } catch {
    return undefined
  }
}
