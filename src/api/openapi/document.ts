import { z } from 'zod'
import { permissions } from '../../core/accounts/api-key.ts'
import { basePlaceholder } from '../docs/base-url.ts'
import type { GuideName } from '../docs/guide.ts'
import { type ErrorCode, errorCodeNames, errorCodes } from '../errors/codes.ts'
import type { DocumentSettings } from '../routes/route.ts'
import { named, text, uuid } from '../routes/schemas.ts'
import { tags } from '../routes/tags.ts'
import { routesOf, templateOf } from '../routes.ts'
import { allNamed, type JsonSchema } from './json-schema.ts'
import { type Operation, operationOf } from './operation.ts'
import { withSendParts } from './request-body.ts'
import { headers } from './responses.ts'
import { timelineEventSchema } from './timeline.ts'
import { webhooks } from './webhooks.ts'

const inCode = permissions.map((permission) => `\`${permission}\``)
const anyPermission = `${inCode.slice(0, -1).join(', ')} and ${inCode.at(-1)}`

export type OpenApiDocument = ReturnType<typeof openApiDocument>
type Paths = Record<string, Partial<Record<'get' | 'head' | 'post' | 'patch' | 'delete', Operation>>>

/** The OpenAPI 3.1 document of all routes of the API. */
export function openApiDocument(settings: DocumentSettings) {
  const { PUBLIC_BASE_URL: publicBaseUrl } = settings
  return {
    openapi: '3.1.0',
    info: {
      title: 'Outbound Messaging API',
      version: '1',
      description: about(settings),
      contact: { name: 'The operator of this service' },
      license: { name: 'MIT', identifier: 'MIT' },
    },
    servers: [
      ...(publicBaseUrl === undefined ? [] : [{ url: publicBaseUrl.replace(/\/+$/, '') }]),
      { url: '/', description: 'The address that served this document.' },
    ],
    tags: tagsOf(settings),
    externalDocs: guide('first-send', 'First send'),
    paths: pathsOf(settings),
    webhooks: webhooks(),
    components: {
      securitySchemes: {
        apiKey: {
          type: 'http',
          scheme: 'bearer',
          bearerFormat: 'omk_…',
          description: `An API key. It has one or more of the permissions ${anyPermission}.`,
        },
      },
      headers,
      // After the paths, which name the schemas of bodies that depend on settings.
      schemas: schemas(),
    },
  }
}

function about({
  MAX_BODY_BYTES: maxBytes,
  RATE_LIMIT_POINTS: points,
  RATE_LIMIT_WINDOW_SECONDS: seconds,
}: DocumentSettings) {
  return `Sends one message to one contact through one of your channels, and records its state and timeline.

- Bodies are JSON in UTF-8, at most ${maxBytes.toLocaleString('en-US')} bytes. An unknown field is refused, at any depth. \`null\` for an
  optional field counts as absent.
- Every answer has the header \`X-Request-Id\`, made by the service. One that you send is ignored.
- Every error, on every path, has the body \`Error\`, and the headers \`Error-Code\` and \`Link\`. A path that is not listed here is a
  404 \`No such route.\`; the \`GET\` routes also accept \`HEAD\`.
- Ids are opaque: an unknown id is a 404, whatever its form.
- An account may send ${points.toLocaleString('en-US')} requests in ${seconds} s, unless it has a limit of its own.`
}

function pathsOf(settings: DocumentSettings): Paths {
  const paths: Paths = {}
  for (const [name, route] of routesOf(settings)) {
    const { method, path, documentedHead } = route
    paths[templateOf(path)] = {
      ...paths[templateOf(path)],
      [method]: operationOf(name, route, settings),
      ...(documentedHead !== undefined && { head: operationOf(documentedHead, route, settings) }),
    }
  }
  return paths
}

/** Tags that have routes, and that of the callbacks, each with the guide about it. */
function tagsOf(settings: DocumentSettings) {
  const used = new Set([...routesOf(settings).map(([, { tag }]) => tag), 'Callbacks'])
  return Object.entries(tags)
    .filter(([name]) => used.has(name))
    .map(
      ([
        name,
        {
          description,
          guide: [page, title],
        },
      ]) => ({
        name,
        description,
        externalDocs: guide(page, title),
      }),
    )
}

/** A guide at the address by which the document is read. */
const guide = (name: GuideName, description: string) => ({
  url: `${basePlaceholder}/docs/${name}`,
  description,
})

named(
  'Error',
  z
    .strictObject({
      statusCode: z.int().min(400).max(599).describe('The HTTP status.'),
      error: text('The name of the status.'),
      message: text(
        'What is wrong, for people. The wording may change, except for `Channel not found` and `flowId: no such flow`.',
      ),
      requestId: uuid('The id of this request. Quote it when you ask for help.'),
    })
    .describe('The body of every error, on every path.'),
)

named(
  'ErrorCode',
  z
    .enum(errorCodeNames)
    .describe(
      `The kind of an error. Further ones may be added.\n\n${errorCodeNames.map(inWords).join('\n')}`,
    ),
)

function inWords(code: ErrorCode): string {
  const { status, why, fix } = errorCodes[code]
  return `- \`${code}\` (${status}): ${why} ${fix}`
}

function schemas(): Record<string, JsonSchema> {
  const TimelineEvent = timelineEventSchema()
  return { ...withSendParts(allNamed()), TimelineEvent }
}
