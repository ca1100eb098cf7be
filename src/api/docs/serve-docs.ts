import { readFileSync } from 'node:fs'
import type { Context } from 'hono'
import { accepts } from 'hono/accepts'
import { secureHeaders } from 'hono/secure-headers'
import { pageFiles, styleSheet } from '../../platform/http/page-files.ts'
import { once } from '../../platform/memory/once.ts'
import { formSchema } from '../../providers/files/form-schema.ts'
import { type ApiEnv, factory } from '../context.ts'
import { headersOfCode } from '../errors/headers.ts'
import { routeNotFound } from '../errors.ts'
import { openApiDocument } from '../openapi/document.ts'
import type { JsonSchema } from '../openapi/json-schema.ts'
import type { DocumentSettings } from '../routes/route.ts'
import { baseUrlOf } from './base-url.ts'
import { llmsText, operationMarkdown, schemasMarkdown } from './markdown.ts'
import { docsPages } from './pages.tsx'
import { buildSearch } from './search.ts'
import { highlightOf, loadSite } from './site.ts'
import { answerStatic, fileBody, type StaticBody, staticBody } from './static-body.ts'

const html = 'text/html; charset=utf-8'
const markdown = 'text/markdown; charset=utf-8'
/** Names that a guide had before: links to it still lead there. */
const formerNames: Record<string, readonly string[]> = { clients: ['typed-clients'] }
const longestQuery = 200

const readAsset = (file: URL) =>
  file.pathname.endsWith('.css') ? styleSheet(file) : readFileSync(file, 'utf8')

const assets = new Map([
  ...Object.entries({
    'docs.css': 'text/css; charset=utf-8',
    'docs.js': 'text/javascript; charset=utf-8',
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
  const baseUrl = (c: Context<ApiEnv>) => baseUrlOf(c, settings.PUBLIC_BASE_URL)
  const answer = answerStatic(baseUrl)
  const notFound = async (c: Context<ApiEnv>) => {
    const error = routeNotFound()
    c.set('refusal', error)
    const { type, at } = (await pages()).notFound()
    return c.body(at(baseUrl(c)).bytes, 404, {
      ...c.get('headers'),
      ...headersOfCode(error.code, settings.PUBLIC_BASE_URL),
      'Content-Type': type,
      'Cache-Control': 'no-store',
    })
  }
  const page = answer(async (c) => {
    const name = c.req.param('page') ?? ''
    const asset = assets.get(name)
    if (asset) return asset
    const { named, search } = await pages()
    if (name === 'search') return search(c.req.query('q') ?? '')
    const make = named.get(name)
    if (!make) throw routeNotFound()
    return make()
  })
  return {
    document: answer(json),
    landing: [onlyFromHere, ...answer(async () => (await pages()).landing())] as const,
    /** `/docs/`, which people type: its links are relative to another place. */
    landingBelow: [onlyFromHere, ...answer(async () => (await pages()).landingBelow())] as const,
    llms: answer(async () => (await pages()).llms()),
    page: [
      onlyFromHere,
      factory.createMiddleware(async (c, next) => {
        const isKnown = async (name: string) => assets.has(name) || (await pages()).named.has(name)
        const name = c.req.param('page') ?? ''
        if (name === 'search' || !wantsHtml(c) || (await isKnown(name))) return await next()
        return await notFound(c)
      }),
      ...page,
    ] as const,
  }
}

/** Whether a person reads the answer: a browser names HTML before all else, and a program doesn't. */
const wantsHtml = (c: Context<ApiEnv>) =>
  accepts(c, {
    header: 'Accept',
    supports: ['application/json', 'text/html'],
    default: 'application/json',
  }) === 'text/html'

async function makePages(document: ReturnType<typeof openApiDocument>) {
  const site = await loadSite()
  const { guides } = site
  const pages = docsPages(document, guides, highlightOf(site))
  const find = once(() => buildSearch(document, guides))
  const schemas = document.components.schemas as Record<string, JsonSchema>
  const page = (name: string, type: string, text: () => string) =>
    [name, once(() => staticBody(type, text()))] as const
  return {
    landing: once(() => staticBody(html, pages.landing('/docs'))),
    landingBelow: once(() => staticBody(html, pages.landing('/docs/'))),
    notFound: once(() => staticBody(html, pages.notFound())),
    llms: once(() => staticBody('text/plain; charset=utf-8', llmsText(document, guides))),
    named: new Map<string, () => StaticBody>([
      ...guides.flatMap((guide) =>
        [guide.name, ...(formerNames[guide.name] ?? [])].flatMap((name) => [
          page(name, html, () => pages.guide(guide)),
          page(`${name}.md`, markdown, () => guide.markdown),
        ]),
      ),
      ...pages.operations.flatMap((operation) => [
        page(operation.slug, html, () => pages.operation(operation.slug)),
        page(`${operation.slug}.md`, markdown, () => operationMarkdown(operation, schemas)),
      ]),
      page('schemas', html, pages.schemas),
      page('provider-file.schema.json', 'application/json', () => JSON.stringify(formSchema())),
      page('schemas.md', markdown, () => schemasMarkdown(schemas)),
    ]),
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
