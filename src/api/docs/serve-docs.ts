import { readFileSync } from 'node:fs'
import { secureHeaders } from 'hono/secure-headers'
import { pageFiles, styleSheet } from '../../platform/http/page-files.ts'
import { once } from '../../platform/memory/once.ts'
import { routeNotFound } from '../errors.ts'
import { openApiDocument } from '../openapi/document.ts'
import type { DocumentSettings } from '../routes/route.ts'
import { baseUrlOf } from './base-url.ts'
import { loadGuides } from './guides.ts'
import { docsPages } from './pages.tsx'
import { buildSearch } from './search.ts'
import { answerStatic, fileBody, type StaticBody, staticBody } from './static-body.ts'

const html = 'text/html; charset=utf-8'
const longestQuery = 200

const readAsset = (file: URL) =>
  file.pathname.endsWith('.css') ? styleSheet(file) : readFileSync(file, 'utf8')

const assets = new Map([
  ...Object.entries({
    'docs.css': 'text/css; charset=utf-8',
    'try.js': 'text/javascript; charset=utf-8',
  }).map(
    ([name, type]) => [name, staticBody(type, readAsset(new URL(`./${name}`, import.meta.url)))] as const,
  ),
  ...Object.values(pageFiles).map(({ name, type, bytes }) => [name, fileBody(type, bytes)] as const),
])

/** The OpenAPI document and the clients' documentation, each page made when it is first read. */
export function serveDocs(settings: DocumentSettings) {
  const document = once(() => openApiDocument(settings))
  const json = once(() => staticBody('application/json', JSON.stringify(document())))
  const pages = once(() => makePages(document()))
  const answer = answerStatic((c) => baseUrlOf(c, settings.PUBLIC_BASE_URL))
  return {
    document: answer(json),
    reference: [onlyFromHere, ...answer(async () => (await pages()).reference())] as const,
    page: [
      onlyFromHere,
      ...answer(async (c) => {
        const name = c.req.param('page') ?? ''
        const asset = assets.get(name)
        if (asset) return asset
        const { guides, search } = await pages()
        if (name === 'search') return search(c.req.query('q') ?? '')
        const guide = guides.get(name)
        if (!guide) throw routeNotFound()
        return guide()
      }),
    ] as const,
  }
}

async function makePages(document: ReturnType<typeof openApiDocument>) {
  const all = await loadGuides()
  const pages = docsPages(document, all)
  const find = once(() => buildSearch(document, all))
  return {
    reference: once(() => staticBody(html, pages.reference())),
    guides: new Map<string, () => StaticBody>(
      all.map((guide) => [guide.name, once(() => staticBody(html, pages.guide(guide)))]),
    ),
    search: (query: string) => {
      const asked = query.slice(0, longestQuery)
      return staticBody(html, pages.search(asked, find()(asked)))
    },
  }
}

/** The pages load nothing from other hosts, run no inline script, and call no other host. */
const onlyFromHere = secureHeaders({
  contentSecurityPolicy: {
    defaultSrc: ["'none'"],
    scriptSrc: ["'self'"],
    styleSrc: ["'self'"],
    imgSrc: ["'self'"],
    fontSrc: ["'self'"],
    connectSrc: ["'self'"],
    formAction: ["'self'"],
    baseUri: ["'none'"],
    frameAncestors: ["'none'"],
  },
  xFrameOptions: 'DENY',
  // A proxy that terminates TLS has to set this itself.
  strictTransportSecurity: false,
})
