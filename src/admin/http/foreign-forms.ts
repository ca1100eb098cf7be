import { factory } from '../context.ts'
import { PageError } from '../errors.tsx'

const readingMethods = ['GET', 'HEAD', 'OPTIONS']

/**
 * Refuses forms that a page of another site sends, whatever their content type. `Sec-Fetch-Site`, which no page can set, decides
 * where the browser sends it; else the Origin does. A request with neither is refused: all browsers of today send one of them.
 */
export const refuseForeignForms = factory.createMiddleware(async (c, next) => {
  const site = c.req.header('Sec-Fetch-Site')
  if (readingMethods.includes(c.req.method) || site === 'same-origin') return next()
  const origin = c.req.header('Origin')
  const asked = c.get('askedOrigin')
  const isOwn = origin !== undefined && origin === asked
  // `none`: the reader did it, such as by sending a form again.
  if (isOwn && (site === undefined || site === 'none')) return next()
  throw new PageError(
    403,
    `This form was sent from another page. Open the page here and send it again.${advice(origin, asked)}`,
  )
})

/** Without a name in TRUST_PROXY, a proxy's TLS is not known here, and the own origin looks foreign. */
function advice(origin: string | undefined, asked: string | undefined): string {
  if (origin === undefined || asked === undefined || !URL.canParse(origin)) return ''
  const [from, own] = [new URL(origin), new URL(asked)]
  if (from.protocol !== 'https:' || own.protocol !== 'http:' || from.host !== own.host) return ''
  return ' If a proxy with TLS is in front of these pages, name it in TRUST_PROXY, and let it write X-Forwarded-Proto.'
}
