/**
 * Undefined if it is no URL. Don't use `URL.canParse`: in Node.js 20, after some thousands of calls, it refuses URLs with
 * letters such as ü.
 */
export function parseUrl(text: string): URL | undefined {
  try {
    return new URL(text)
  } catch {
    return undefined
  }
}
