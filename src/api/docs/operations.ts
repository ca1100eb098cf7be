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
  method: string
  /** Undefined for a callback. */
  path?: string
  operation: Operation
}

/** All operations, by their tags, in the order of the document. */
export function operationsByTag({ tags, paths, webhooks }: OpenApiDocument) {
  const placed: PlacedOperation[] = [
    ...Object.entries(paths).flatMap(([path, methods]) =>
      Object.entries(methods).map(([method, operation]) => ({
        id: operation.operationId,
        method: method.toUpperCase(),
        path,
        operation,
      })),
    ),
    ...Object.values(webhooks as Record<string, { post: Operation }>).map(({ post }) => ({
      id: post.operationId,
      method: 'POST',
      operation: post,
    })),
  ]
  return tags.map((tag) => ({
    tag,
    operations: placed.filter(({ operation }) => operation.tags[0] === tag.name),
  }))
}

/** The id of the operation that a guide names as `GET /v1/messages/:requestId`. */
export function operationIds(document: OpenApiDocument): Map<string, string> {
  return new Map(
    operationsByTag(document).flatMap(({ operations }) =>
      operations.flatMap(({ id, method, path }) =>
        path === undefined ? [] : [[`${method} ${path.replaceAll(/\{(\w+)\}/g, ':$1')}`, id] as const],
      ),
    ),
  )
}
