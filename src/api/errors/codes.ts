import type { ContentfulStatusCode } from 'hono/utils/http-status'

interface ErrorKind {
  status: ContentfulStatusCode
  /** Why a request gets it, as a sentence. */
  why: string
  /** What the client does next. */
  fix: string
}

/**
 * The one table of the errors of the API: a code for each kind, and its status. Error answers, the OpenAPI document, the log's `code`
 * and docs/client/errors.md come from here. Clients compare with codes, so a released code keeps its name, meaning and status.
 */
export const errorCodes = {
  invalid_http: {
    status: 400,
    why: 'The request is not valid HTTP, lacks the Host header, or has too many headers.',
    fix: 'Use an HTTP client that follows the standard, and send fewer headers.',
  },
  invalid_body: {
    status: 400,
    why: 'The body is not valid JSON, or fields are invalid, missing or unknown. The message names each by its path.',
    fix: 'Change the named fields. A repeat fails again.',
  },
  unsupported_content_type: {
    status: 400,
    why: 'The body is not declared as JSON in UTF-8, or is compressed.',
    fix: 'Send `Content-Type: application/json`, and no `Content-Encoding`.',
  },
  body_too_large: {
    status: 400,
    why: 'The body has more bytes than the route takes.',
    fix: 'Send large media by `mediaUrl`, and fewer messages in a batch.',
  },
  body_incomplete: {
    status: 400,
    why: 'The body ended early, or came too slowly.',
    fix: 'Repeat the request on a better connection.',
  },
  invalid_query: {
    status: 400,
    why: 'Parameters of the address are unknown, repeated or unreadable. The message names each.',
    fix: 'Change the named parameters.',
  },
  invalid_idempotency_key: {
    status: 400,
    why: 'The Idempotency-Key is empty, too long, quoted at one end only, or sent twice.',
    fix: 'Send one key of 1 to 255 characters, bare or in double quotes.',
  },
  invalid_media: {
    status: 400,
    why: 'The content of a media is recognised as something else than its `mediaType` or `mimetype` says.',
    fix: 'Name the type that the content has.',
  },
  invalid_template: {
    status: 400,
    why: "The template's name or variables are not those registered with the channel.",
    fix: 'Read `GET /v1/channels/:channelId/templates`, and send exactly its variables.',
  },
  flow_not_found: {
    status: 400,
    why: 'The flow does not exist, or belongs to another account.',
    fix: 'Take a `flowId` of `GET /v1/flows`.',
  },
  unsupported_by_channel: {
    status: 400,
    why: 'The channel cannot send this: its provider takes other contacts, other types of messages, or less.',
    fix: 'Read `GET /v1/channels/:channelId` for what it takes, or use another channel.',
  },
  batch_too_large: {
    status: 400,
    why: 'The batch has more messages than the rate limit of the account ever allows at once.',
    fix: 'Divide the batch.',
  },
  too_many_endpoints: {
    status: 400,
    why: 'The account has as many endpoints as an account may have.',
    fix: 'Delete an endpoint first.',
  },
  endpoint_disabled: {
    status: 400,
    why: 'The endpoint is disabled, so that it cannot be tested.',
    fix: 'Enable it with `POST /v1/endpoints/:endpointId/enable`, then test it.',
  },
  invalid_receipt: {
    status: 400,
    why: 'The receipts of a provider cannot be read.',
    fix: 'Send them in the form of the provider of the channel.',
  },
  invalid_api_key: {
    status: 401,
    why: 'The API key is missing, malformed, unknown, expired or revoked. The answer does not say which.',
    fix: 'Send `Authorization: Bearer` with a valid key. Ask the operator for a new one.',
  },
  missing_permission: {
    status: 403,
    why: 'The API key lacks the permission that the message names.',
    fix: 'Ask the operator for a key that has it.',
  },
  invalid_signature: {
    status: 403,
    why: 'The signature or token of a request of a provider is not the one of the channel.',
    fix: "Compare the channel's secrets at both ends.",
  },
  channel_not_found: {
    status: 404,
    why: 'The channel does not exist, or belongs to another account; on receipts also: it takes none.',
    fix: 'Take a `channelId` of `GET /v1/channels`.',
  },
  message_not_found: {
    status: 404,
    why: 'No send of the account has this `requestId`, or it is past its retention.',
    fix: 'Take the `requestId` of the 202. The id of a batch finds no send; the ids of its messages do.',
  },
  endpoint_not_found: {
    status: 404,
    why: 'The endpoint does not exist, or belongs to another account.',
    fix: 'Take an `endpointId` of `GET /v1/endpoints`.',
  },
  suppression_not_found: {
    status: 404,
    why: 'The suppression does not exist, was removed, or belongs to another account.',
    fix: 'Take a `suppressionId` of `GET /v1/suppressions`.',
  },
  unsubscribe_link_not_found: {
    status: 404,
    why: 'The address to unsubscribe was altered or cut off.',
    fix: 'Open it from the mail again.',
  },
  media_not_found: {
    status: 404,
    why: 'The media link was altered or has expired, or the media is past its retention.',
    fix: 'Nothing: each attempt of the send makes a new link.',
  },
  route_not_found: {
    status: 404,
    why: 'The API has no such path.',
    fix: 'Compare the path with the reference.',
  },
  method_not_allowed: {
    status: 405,
    why: 'The path does not support this method. `Allow` lists the supported ones.',
    fix: 'Compare the method with the reference.',
  },
  not_cancelable: {
    status: 409,
    why: 'The send no longer waits: it is being sent, or has ended.',
    fix: 'Nothing: the send stays as it is. Read it for its result.',
  },
  not_movable: {
    status: 409,
    why: 'The send no longer waits for its time: it is due, or has ended.',
    fix: 'Nothing: the send stays as it is. Read it for its result.',
  },
  idempotency_key_reused: {
    status: 422,
    why: 'The Idempotency-Key was used for another request within 24 hours. The message names the first `requestId`.',
    fix: 'Use one key for each message.',
  },
  rate_limited: {
    status: 429,
    why: 'The account sent more requests than its rate limit allows.',
    fix: 'Wait for the seconds of `Retry-After`, then repeat.',
  },
  ceiling_reached: {
    status: 429,
    why: 'The account or the channel may send no more in this hour, day or month. The message names the ceiling and when it ends.',
    fix: 'Wait for the seconds of `Retry-After`, or ask the operator for a higher ceiling.',
  },
  key_rate_limited: {
    status: 429,
    why: 'The API key made too many reads and refused requests.',
    fix: 'Wait for the seconds of `Retry-After`, then read less often: callbacks report each change.',
  },
  too_many_failures: {
    status: 429,
    why: 'Too many requests from this address had an invalid API key, signature or token.',
    fix: 'Check the key or the secret, and wait for the seconds of `Retry-After`.',
  },
  internal_error: {
    status: 500,
    why: 'The service had an internal error.',
    fix: 'Repeat with the same Idempotency-Key, and report the `requestId`.',
  },
  unavailable: {
    status: 503,
    why: 'The service cannot take requests at the moment. Nothing was accepted.',
    fix: 'Wait for the seconds of `Retry-After`, then repeat with the same Idempotency-Key.',
  },
  endpoint_not_called: {
    status: 503,
    why: 'No worker has called the tested endpoint in time.',
    fix: 'Read `GET /v1/endpoints/:endpointId/callbacks` for the result.',
  },
  not_ready: {
    status: 503,
    why: 'The process takes no requests: it is stopping, or cannot use PostgreSQL.',
    fix: 'Load balancers use another process.',
  },
} as const satisfies Record<string, ErrorKind>

export type ErrorCode = keyof typeof errorCodes

export const errorCodeNames = Object.keys(errorCodes) as ErrorCode[]
