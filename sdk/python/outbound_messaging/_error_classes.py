# Written by `npm run clients` from the OpenAPI document, not by hand.
"""The class of each `Error-Code`."""
from typing import Dict, Type

from ._errors import ApiError


class InvalidHttpError(ApiError):
    """400 `invalid_http`: The request is not valid HTTP, lacks the Host header, or has too many headers. Use an HTTP client that follows the standard, and send fewer headers."""


class InvalidBodyError(ApiError):
    """400 `invalid_body`: The body is not valid JSON, or fields are invalid, missing or unknown. The message names each by its path. Change the named fields. A repeat fails again."""


class UnsupportedContentTypeError(ApiError):
    """400 `unsupported_content_type`: The body is not declared as JSON in UTF-8, or is compressed. Send `Content-Type: application/json`, and no `Content-Encoding`."""


class BodyTooLargeError(ApiError):
    """400 `body_too_large`: The body has more bytes than the route takes. Send large media by `mediaUrl`, and fewer messages in a batch."""


class BodyIncompleteError(ApiError):
    """400 `body_incomplete`: The body ended early, or came too slowly. Repeat the request on a better connection."""


class InvalidQueryError(ApiError):
    """400 `invalid_query`: Parameters of the address are unknown, repeated or unreadable. The message names each. Change the named parameters."""


class InvalidIdempotencyKeyError(ApiError):
    """400 `invalid_idempotency_key`: The Idempotency-Key is empty, too long, quoted at one end only, or sent twice. Send one key of 1 to 255 characters, bare or in double quotes."""


class InvalidMediaError(ApiError):
    """400 `invalid_media`: The content of a media is recognised as something else than its `mediaType` or `mimetype` says. Name the type that the content has."""


class InvalidTemplateError(ApiError):
    """400 `invalid_template`: The template's name or variables are not those registered with the channel. Read `GET /v1/channels/:channelId/templates`, and send exactly its variables."""


class FlowNotFoundError(ApiError):
    """400 `flow_not_found`: The flow does not exist, or belongs to another account. Take a `flowId` of `GET /v1/flows`."""


class UnsupportedByChannelError(ApiError):
    """400 `unsupported_by_channel`: The channel cannot send this: its provider takes other contacts, other types of messages, or less. Read `GET /v1/channels/:channelId` for what it takes, or use another channel."""


class BatchTooLargeError(ApiError):
    """400 `batch_too_large`: The batch has more messages than the rate limit of the account ever allows at once. Divide the batch."""


class TooManyEndpointsError(ApiError):
    """400 `too_many_endpoints`: The account has as many endpoints as an account may have. Delete an endpoint first."""


class EndpointDisabledError(ApiError):
    """400 `endpoint_disabled`: The endpoint is disabled, so that it cannot be tested. Enable it with `POST /v1/endpoints/:endpointId/enable`, then test it."""


class InvalidReceiptError(ApiError):
    """400 `invalid_receipt`: The receipts of a provider cannot be read. Send them in the form of the provider of the channel."""


class InvalidApiKeyError(ApiError):
    """401 `invalid_api_key`: The API key is missing, malformed, unknown, expired or revoked. The answer does not say which. Send `Authorization: Bearer` with a valid key. Ask the operator for a new one."""


class MissingPermissionError(ApiError):
    """403 `missing_permission`: The API key lacks the permission that the message names. Ask the operator for a key that has it."""


class InvalidSignatureError(ApiError):
    """403 `invalid_signature`: The signature or token of a request of a provider is not the one of the channel. Compare the channel's secrets at both ends."""


class ChannelNotFoundError(ApiError):
    """404 `channel_not_found`: The channel does not exist, or belongs to another account; on receipts also: it takes none. Take a `channelId` of `GET /v1/channels`."""


class MessageNotFoundError(ApiError):
    """404 `message_not_found`: No send of the account has this `requestId`, or it is past its retention. Take the `requestId` of the 202. The id of a batch finds no send; the ids of its messages do."""


class EndpointNotFoundError(ApiError):
    """404 `endpoint_not_found`: The endpoint does not exist, or belongs to another account. Take an `endpointId` of `GET /v1/endpoints`."""


class SuppressionNotFoundError(ApiError):
    """404 `suppression_not_found`: The suppression does not exist, was removed, or belongs to another account. Take a `suppressionId` of `GET /v1/suppressions`."""


class UnsubscribeLinkNotFoundError(ApiError):
    """404 `unsubscribe_link_not_found`: The address to unsubscribe was altered or cut off. Open it from the mail again."""


class MediaNotFoundError(ApiError):
    """404 `media_not_found`: The media link was altered or has expired, or the media is past its retention. Nothing: each attempt of the send makes a new link."""


class RouteNotFoundError(ApiError):
    """404 `route_not_found`: The API has no such path. Compare the path with the reference."""


class MethodNotAllowedError(ApiError):
    """405 `method_not_allowed`: The path does not support this method. `Allow` lists the supported ones. Compare the method with the reference."""


class NotCancelableError(ApiError):
    """409 `not_cancelable`: The send no longer waits: it is being sent, or has ended. Nothing: the send stays as it is. Read it for its result."""


class NotMovableError(ApiError):
    """409 `not_movable`: The send no longer waits for its time: it is due, or has ended. Nothing: the send stays as it is. Read it for its result."""


class IdempotencyKeyReusedError(ApiError):
    """422 `idempotency_key_reused`: The Idempotency-Key was used for another request within 24 hours. The message names the first `requestId`. Use one key for each message."""


class RateLimitedError(ApiError):
    """429 `rate_limited`: The account sent more requests than its rate limit allows. Wait for the seconds of `Retry-After`, then repeat."""


class CeilingReachedError(ApiError):
    """429 `ceiling_reached`: The account or the channel may send no more in this hour, day or month. The message names the ceiling and when it ends. Wait for the seconds of `Retry-After`, or ask the operator for a higher ceiling."""


class KeyRateLimitedError(ApiError):
    """429 `key_rate_limited`: The API key made too many reads and refused requests. Wait for the seconds of `Retry-After`, then read less often: callbacks report each change."""


class TooManyFailuresError(ApiError):
    """429 `too_many_failures`: Too many requests from this address had an invalid API key, signature or token. Check the key or the secret, and wait for the seconds of `Retry-After`."""


class InternalError(ApiError):
    """500 `internal_error`: The service had an internal error. Repeat with the same Idempotency-Key, and report the `requestId`."""


class UnavailableError(ApiError):
    """503 `unavailable`: The service cannot take requests at the moment. Nothing was accepted. Wait for the seconds of `Retry-After`, then repeat with the same Idempotency-Key."""


class EndpointNotCalledError(ApiError):
    """503 `endpoint_not_called`: No worker has called the tested endpoint in time. Read `GET /v1/endpoints/:endpointId/callbacks` for the result."""


class NotReadyError(ApiError):
    """503 `not_ready`: The process takes no requests: it is stopping, or cannot use PostgreSQL. Load balancers use another process."""


ERROR_CLASSES: Dict[str, Type[ApiError]] = {
    "invalid_http": InvalidHttpError,
    "invalid_body": InvalidBodyError,
    "unsupported_content_type": UnsupportedContentTypeError,
    "body_too_large": BodyTooLargeError,
    "body_incomplete": BodyIncompleteError,
    "invalid_query": InvalidQueryError,
    "invalid_idempotency_key": InvalidIdempotencyKeyError,
    "invalid_media": InvalidMediaError,
    "invalid_template": InvalidTemplateError,
    "flow_not_found": FlowNotFoundError,
    "unsupported_by_channel": UnsupportedByChannelError,
    "batch_too_large": BatchTooLargeError,
    "too_many_endpoints": TooManyEndpointsError,
    "endpoint_disabled": EndpointDisabledError,
    "invalid_receipt": InvalidReceiptError,
    "invalid_api_key": InvalidApiKeyError,
    "missing_permission": MissingPermissionError,
    "invalid_signature": InvalidSignatureError,
    "channel_not_found": ChannelNotFoundError,
    "message_not_found": MessageNotFoundError,
    "endpoint_not_found": EndpointNotFoundError,
    "suppression_not_found": SuppressionNotFoundError,
    "unsubscribe_link_not_found": UnsubscribeLinkNotFoundError,
    "media_not_found": MediaNotFoundError,
    "route_not_found": RouteNotFoundError,
    "method_not_allowed": MethodNotAllowedError,
    "not_cancelable": NotCancelableError,
    "not_movable": NotMovableError,
    "idempotency_key_reused": IdempotencyKeyReusedError,
    "rate_limited": RateLimitedError,
    "ceiling_reached": CeilingReachedError,
    "key_rate_limited": KeyRateLimitedError,
    "too_many_failures": TooManyFailuresError,
    "internal_error": InternalError,
    "unavailable": UnavailableError,
    "endpoint_not_called": EndpointNotCalledError,
    "not_ready": NotReadyError,
}
