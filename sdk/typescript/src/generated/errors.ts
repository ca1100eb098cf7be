// Written by `npm run clients` from the OpenAPI document, not by hand.
import { ApiError } from '../errors.ts'

/** 400 `invalid_http`: The request is not valid HTTP, lacks the Host header, or has too many headers. Use an HTTP client that follows the standard, and send fewer headers. */
export class InvalidHttpError extends ApiError {}

/** 400 `invalid_body`: The body is not valid JSON, or fields are invalid, missing or unknown. The message names each by its path. Change the named fields. A repeat fails again. */
export class InvalidBodyError extends ApiError {}

/** 400 `unsupported_content_type`: The body is not declared as JSON in UTF-8, or is compressed. Send `Content-Type: application/json`, and no `Content-Encoding`. */
export class UnsupportedContentTypeError extends ApiError {}

/** 400 `body_too_large`: The body has more bytes than the route takes. Send large media by `mediaUrl`, and fewer messages in a batch. */
export class BodyTooLargeError extends ApiError {}

/** 400 `body_incomplete`: The body ended early, or came too slowly. Repeat the request on a better connection. */
export class BodyIncompleteError extends ApiError {}

/** 400 `invalid_query`: Parameters of the address are unknown, repeated or unreadable. The message names each. Change the named parameters. */
export class InvalidQueryError extends ApiError {}

/** 400 `invalid_idempotency_key`: The Idempotency-Key is empty, too long, quoted at one end only, or sent twice. Send one key of 1 to 255 characters, bare or in double quotes. */
export class InvalidIdempotencyKeyError extends ApiError {}

/** 400 `invalid_media`: The content of a media is recognised as something else than its `mediaType` or `mimetype` says. Name the type that the content has. */
export class InvalidMediaError extends ApiError {}

/** 400 `invalid_template`: The template's name or variables are not those registered with the channel. Read `GET /v1/channels/:channelId/templates`, and send exactly its variables. */
export class InvalidTemplateError extends ApiError {}

/** 400 `flow_not_found`: The flow does not exist, or belongs to another account. Take a `flowId` of `GET /v1/flows`. */
export class FlowNotFoundError extends ApiError {}

/** 400 `unsupported_by_channel`: The channel cannot send this: its provider takes other contacts, other types of messages, or less. Read `GET /v1/channels/:channelId` for what it takes, or use another channel. */
export class UnsupportedByChannelError extends ApiError {}

/** 400 `batch_too_large`: The batch has more messages than the rate limit of the account ever allows at once. Divide the batch. */
export class BatchTooLargeError extends ApiError {}

/** 400 `too_many_endpoints`: The account has as many endpoints as an account may have. Delete an endpoint first. */
export class TooManyEndpointsError extends ApiError {}

/** 400 `endpoint_disabled`: The endpoint is disabled, so that it cannot be tested. Enable it with `POST /v1/endpoints/:endpointId/enable`, then test it. */
export class EndpointDisabledError extends ApiError {}

/** 400 `invalid_receipt`: The receipts of a provider cannot be read. Send them in the form of the provider of the channel. */
export class InvalidReceiptError extends ApiError {}

/** 401 `invalid_api_key`: The API key is missing, malformed, unknown, expired or revoked. The answer does not say which. Send `Authorization: Bearer` with a valid key. Ask the operator for a new one. */
export class InvalidApiKeyError extends ApiError {}

/** 403 `missing_permission`: The API key lacks the permission that the message names. Ask the operator for a key that has it. */
export class MissingPermissionError extends ApiError {}

/** 403 `invalid_signature`: The signature or token of a request of a provider is not the one of the channel. Compare the channel's secrets at both ends. */
export class InvalidSignatureError extends ApiError {}

/** 404 `channel_not_found`: The channel does not exist, or belongs to another account; on receipts also: it takes none. Take a `channelId` of `GET /v1/channels`. */
export class ChannelNotFoundError extends ApiError {}

/** 404 `message_not_found`: No send of the account has this `requestId`, or it is past its retention. Take the `requestId` of the 202. The id of a batch finds no send; the ids of its messages do. */
export class MessageNotFoundError extends ApiError {}

/** 404 `endpoint_not_found`: The endpoint does not exist, or belongs to another account. Take an `endpointId` of `GET /v1/endpoints`. */
export class EndpointNotFoundError extends ApiError {}

/** 404 `suppression_not_found`: The suppression does not exist, was removed, or belongs to another account. Take a `suppressionId` of `GET /v1/suppressions`. */
export class SuppressionNotFoundError extends ApiError {}

/** 404 `unsubscribe_link_not_found`: The address to unsubscribe was altered or cut off. Open it from the mail again. */
export class UnsubscribeLinkNotFoundError extends ApiError {}

/** 404 `media_not_found`: The media link was altered or has expired, or the media is past its retention. Nothing: each attempt of the send makes a new link. */
export class MediaNotFoundError extends ApiError {}

/** 404 `route_not_found`: The API has no such path. Compare the path with the reference. */
export class RouteNotFoundError extends ApiError {}

/** 405 `method_not_allowed`: The path does not support this method. `Allow` lists the supported ones. Compare the method with the reference. */
export class MethodNotAllowedError extends ApiError {}

/** 409 `not_cancelable`: The send no longer waits: it is being sent, or has ended. Nothing: the send stays as it is. Read it for its result. */
export class NotCancelableError extends ApiError {}

/** 409 `not_movable`: The send no longer waits for its time: it is due, or has ended. Nothing: the send stays as it is. Read it for its result. */
export class NotMovableError extends ApiError {}

/** 422 `idempotency_key_reused`: The Idempotency-Key was used for another request within 24 hours. The message names the first `requestId`. Use one key for each message. */
export class IdempotencyKeyReusedError extends ApiError {}

/** 429 `rate_limited`: The account sent more requests than its rate limit allows. Wait for the seconds of `Retry-After`, then repeat. */
export class RateLimitedError extends ApiError {}

/** 429 `ceiling_reached`: The account or the channel may send no more in this hour, day or month. The message names the ceiling and when it ends. Wait for the seconds of `Retry-After`, or ask the operator for a higher ceiling. */
export class CeilingReachedError extends ApiError {}

/** 429 `key_rate_limited`: The API key made too many reads and refused requests. Wait for the seconds of `Retry-After`, then read less often: callbacks report each change. */
export class KeyRateLimitedError extends ApiError {}

/** 429 `too_many_failures`: Too many requests from this address had an invalid API key, signature or token. Check the key or the secret, and wait for the seconds of `Retry-After`. */
export class TooManyFailuresError extends ApiError {}

/** 500 `internal_error`: The service had an internal error. Repeat with the same Idempotency-Key, and report the `requestId`. */
export class InternalError extends ApiError {}

/** 503 `unavailable`: The service cannot take requests at the moment. Nothing was accepted. Wait for the seconds of `Retry-After`, then repeat with the same Idempotency-Key. */
export class UnavailableError extends ApiError {}

/** 503 `endpoint_not_called`: No worker has called the tested endpoint in time. Read `GET /v1/endpoints/:endpointId/callbacks` for the result. */
export class EndpointNotCalledError extends ApiError {}

/** 503 `not_ready`: The process takes no requests: it is stopping, or cannot use PostgreSQL. Load balancers use another process. */
export class NotReadyError extends ApiError {}

/** The class of each `Error-Code`. */
export const errorClasses = {
  invalid_http: InvalidHttpError,
  invalid_body: InvalidBodyError,
  unsupported_content_type: UnsupportedContentTypeError,
  body_too_large: BodyTooLargeError,
  body_incomplete: BodyIncompleteError,
  invalid_query: InvalidQueryError,
  invalid_idempotency_key: InvalidIdempotencyKeyError,
  invalid_media: InvalidMediaError,
  invalid_template: InvalidTemplateError,
  flow_not_found: FlowNotFoundError,
  unsupported_by_channel: UnsupportedByChannelError,
  batch_too_large: BatchTooLargeError,
  too_many_endpoints: TooManyEndpointsError,
  endpoint_disabled: EndpointDisabledError,
  invalid_receipt: InvalidReceiptError,
  invalid_api_key: InvalidApiKeyError,
  missing_permission: MissingPermissionError,
  invalid_signature: InvalidSignatureError,
  channel_not_found: ChannelNotFoundError,
  message_not_found: MessageNotFoundError,
  endpoint_not_found: EndpointNotFoundError,
  suppression_not_found: SuppressionNotFoundError,
  unsubscribe_link_not_found: UnsubscribeLinkNotFoundError,
  media_not_found: MediaNotFoundError,
  route_not_found: RouteNotFoundError,
  method_not_allowed: MethodNotAllowedError,
  not_cancelable: NotCancelableError,
  not_movable: NotMovableError,
  idempotency_key_reused: IdempotencyKeyReusedError,
  rate_limited: RateLimitedError,
  ceiling_reached: CeilingReachedError,
  key_rate_limited: KeyRateLimitedError,
  too_many_failures: TooManyFailuresError,
  internal_error: InternalError,
  unavailable: UnavailableError,
  endpoint_not_called: EndpointNotCalledError,
  not_ready: NotReadyError,
}
