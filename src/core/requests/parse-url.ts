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

export const cutPassword =
  'has an @ after its host; in the password write / as %2F, ? as %3F and # as %23, elsewhere @ as %40'

/** Whether a `/`, `?` or `#` in the password ended it, so that its rest, with the `@` before the host, counts as path or query. */
export function hasCutPassword({ pathname, search, hash }: URL): boolean {
  return `${pathname}${search}${hash}`.includes('@')
}
