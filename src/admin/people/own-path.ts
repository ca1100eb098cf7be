const base = 'http://own.invalid'

/** A path of these pages, as it may be redirected to; the first page if the text leads anywhere else. */
export function ownPath(text: string | undefined): string {
  if (!text?.startsWith('/') || !URL.canParse(text, base)) return '/'
  // Parsed as a browser does, which reads `/\host` and `/<tab>/host` as another host.
  const { origin, pathname, search } = new URL(text, base)
  const isOwn = origin === base && !pathname.startsWith('//') && !/^\/log(in|out)(\/|$)/.test(pathname)
  return isOwn ? pathname + search : '/'
}
