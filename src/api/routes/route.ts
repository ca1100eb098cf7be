import type { z } from 'zod'
import type { Permission } from '../../core/accounts/api-key.ts'
import type { Network } from '../../core/requests/public-address.ts'
import type { QueryParameter } from '../../core/requests/query.ts'
import type { Settings } from '../../platform/settings/settings.ts'
import type { ApiError } from '../errors.ts'
import type { TagName } from './tags.ts'

/**
 * A route of the API, as the table of routes has it (src/api/routes.ts). The steps that serve it, its types, the OpenAPI document with
 * the pages made from that, `GET /` and the 405s come from here.
 */
export interface Route {
  method: 'get' | 'post' | 'patch' | 'delete'
  /** As Hono has it, such as `/v1/messages/:requestId`. */
  path: `/${string}`
  tag: TagName
  summary: string
  description: string
  /** The key has to have one of them. A route without them needs no key. */
  permissions?: readonly Permission[]
  /**
   * The limit that counts its requests. The rate limit of the account counts a `send` after every check, and another `request` before its
   * work; the limit of the key counts a `read`, and refused requests of every route.
   */
  limit?: 'send' | 'request' | 'read'
  /** Whether it takes an Idempotency-Key. */
  isIdempotent?: true
  /** The parameters in its path, by their names. */
  params?: Record<string, PathParameter>
  query?: { parameters: Record<string, QueryParameter>; readQuery?: QueryReader }
  body?: Body
  answer: Answer
  /** What `dryRun=true` answers in place of that. */
  dryRunAnswer?: Answer & { status?: never }
  /** Refusals of its own, by the names of their examples. Refusals that follow from the rest are in openapi/refusals.ts. */
  refusals?: Refusals
  /** Its place in the answer of `GET /`. */
  index?: { name: string; what: string }
  /** Whether it is for providers, load balancers or readers, and no call of a client. */
  isInternal?: true
  /** Whether it is there only with PUBLIC_BASE_URL. */
  needsPublicUrl?: true
  /** The name of its HEAD, if clients use that, too. */
  documentedHead?: string
}

export interface PathParameter {
  what: string
  example?: string
}

export type QueryReader = (query: URLSearchParams) => { query: object } | { issue: string; reason: string }

export interface Body {
  /** Some bodies depend on the private networks that clients may name. */
  schema: z.ZodType | ((allowedPrivateNetworks: readonly Network[]) => z.ZodType)
  description?: string
  /** Whether an absent body stands for an empty object. */
  isOptional?: true
  examples: Record<string, Example>
  /** Bodies that are refused, by the names of the examples of these refusals. */
  faults?: Record<string, Example>
  /** The types of bodies that are no JSON. */
  otherTypes?: readonly string[]
}

export const schemaOf = ({ schema }: Body, allowedPrivateNetworks: readonly Network[]): z.ZodType =>
  typeof schema === 'function' ? schema(allowedPrivateNetworks) : schema

export interface Example {
  summary: string
  value: unknown
}

export interface Answer {
  /** 200 by default. */
  status?: 201 | 202 | 204
  what: string
  /** The form of an answer in JSON. */
  schema?: z.ZodType
  example?: unknown
  /** The types of an answer that is no JSON. */
  types?: readonly string[]
  /** Whether it has an `ETag`, so that a 304 may come instead. */
  hasEtag?: true
}

export type DocumentSettings = Pick<
  Settings,
  'MAX_BODY_BYTES' | 'PUBLIC_BASE_URL' | 'RATE_LIMIT_POINTS' | 'RATE_LIMIT_WINDOW_SECONDS'
>

/** An error answer, made by the code that makes it in the service. */
export interface Refusal {
  summary: string
  /** Types in which it comes to who prefers them to JSON. */
  otherTypes?: readonly string[]
  error(settings: DocumentSettings): ApiError
}

export type Refusals = Record<string, Refusal>

export type QueryOf<Given extends Route> = Given extends {
  query: { readQuery(query: URLSearchParams): infer Read }
}
  ? Extract<Read, { query: unknown }>['query']
  : undefined

type SchemaOf<Schema> = Schema extends (networks: readonly Network[]) => infer Made ? Made : Schema

export type BodyOf<Given extends Route> = Given extends { body: { schema: infer Schema } }
  ? SchemaOf<Schema> extends z.ZodType
    ? z.output<SchemaOf<Schema>>
    : never
  : undefined

export type AnswerOf<Given extends Route> = Given extends {
  answer: { schema: infer Schema extends z.ZodType }
}
  ? Unchanged<z.output<Schema>>
  : undefined

type Unchanged<Value> = Value extends Date
  ? Date
  : Value extends readonly (infer Item)[]
    ? readonly Unchanged<Item>[]
    : Value extends object
      ? { readonly [Name in keyof Value]: Unchanged<Value[Name]> }
      : Value
