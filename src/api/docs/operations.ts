import type { OpenApiDocument } from '../openapi/document.ts'
import type { JsonSchema } from '../openapi/json-schema.ts'
import type { Operation } from '../openapi/operation.ts'

/** A parameter as the document has it. */
export interface Parameter {
  name: string
  in: string
  description?: string
  required?: boolean
  schema: JsonSchema
  example?: string
}

/** An operation of the document with its place: a route, or a callback to the client's own URL. */
export interface PlacedOperation {
  id: string
  /** The name of its page: `sendMessage` is at `send-message`. */
  slug: string
  tag: string
  method: string
  /** Undefined for a callback. */
  path?: string
  operation: Operation
}

const slugOf = (id: string) => id.replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)

/** All operations, by their tags, in the order of the document. */
export function operationsByTag({ tags, paths, webhooks }: OpenApiDocument) {
  const placed = [
    ...Object.entries(paths).flatMap(([path, methods]) =>
      Object.entries(methods).map(([method, operation]) => ({
        method: method.toUpperCase(),
        path,
        operation,
      })),
    ),
    ...Object.values(webhooks as Record<string, { post: Operation }>).map(({ post }) => ({
      method: 'POST',
      operation: post,
    })),
  ].map((each): PlacedOperation => {
    const id = each.operation.operationId
    return { id, slug: slugOf(id), tag: each.operation.tags[0] ?? '', ...each }
  })
  return tags.map((tag) => ({ tag, operations: placed.filter(({ tag: name }) => name === tag.name) }))
}

/** The page of the operation that a guide names as `GET /v1/messages/:requestId`. */
export function operationSlugs(document: OpenApiDocument): Map<string, string> {
  return new Map(
    operationsByTag(document).flatMap(({ operations }) =>
      operations.flatMap(({ slug, method, path }) =>
        path === undefined ? [] : [[`${method} ${path.replaceAll(/\{(\w+)\}/g, ':$1')}`, slug] as const],
      ),
    ),
  )
}
