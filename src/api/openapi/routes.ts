import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { secureHeaders } from 'hono/secure-headers'
import { routeNotFound } from '../errors.ts'
import { type DocumentSettings, openApiDocument } from './document.ts'
import { page, script } from './page.ts'
import { answerStatic, type StaticBody, staticBody } from './static-body.ts'

const javaScript = 'text/javascript; charset=utf-8'

/** The files of Swagger UI that the page needs, unchanged. */
const swaggerFiles = {
  'swagger-ui.css': 'text/css; charset=utf-8',
  'swagger-ui-bundle.js': javaScript,
  'favicon-32x32.png': 'image/png',
}

const html = staticBody('text/html; charset=utf-8', page)
const { resolve } = createRequire(import.meta.url)
const files = new Map<string, StaticBody>([
  ['page.js', staticBody(javaScript, script)],
  ...Object.entries(swaggerFiles).map(
    ([name, type]) => [name, staticBody(type, readFileSync(resolve(`swagger-ui-dist/${name}`)))] as const,
  ),
])

/** The OpenAPI document and its page (docs/reference/api.md#openapi), made once, when the process starts. */
export function openApiRoutes(settings: DocumentSettings) {
  const document = staticBody('application/json', JSON.stringify(openApiDocument(settings)))
  return {
    document: answerStatic(() => document),
    page: [onlyFromHere, ...answerStatic(() => html)] as const,
    file: [
      onlyFromHere,
      ...answerStatic((name) => {
        const file = files.get(name)
        if (!file) throw routeNotFound()
        return file
      }),
    ] as const,
  }
}

/** The page loads nothing from other hosts, runs no inline script, and calls no other host. */
const onlyFromHere = secureHeaders({
  contentSecurityPolicy: {
    defaultSrc: ["'none'"],
    scriptSrc: ["'self'"],
    styleSrc: ["'self'"],
    // Swagger UI's style sheet contains its icons.
    imgSrc: ["'self'", 'data:'],
    connectSrc: ["'self'"],
    baseUri: ["'none'"],
    formAction: ["'none'"],
    frameAncestors: ["'none'"],
  },
  xFrameOptions: 'DENY',
  // A proxy that terminates TLS has to set this itself.
  strictTransportSecurity: false,
})
