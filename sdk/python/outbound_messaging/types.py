# Written by `npm run clients` from the OpenAPI document, not by hand.
"""The JSON of requests and answers, by the names of the OpenAPI document."""
from typing import Any, Dict, List, Literal, Optional, TypedDict, Union


class NoFields(TypedDict):
    """Nothing."""

    pass


class ChannelFallback(TypedDict):
    """The channel by which its sends go on that it could not deliver. Absent if it has none."""

    channelId: str
    """The id of that channel."""
    on: List[Literal["failed", "undelivered"]]
    """After what: the send `failed`, or the provider reported it as `undelivered`."""
    withinSeconds: int
    """No later than this after their accept."""


class _ChannelRequired(TypedDict):
    channelId: str
    """The id of the channel."""
    name: str
    """Its name, as its operator gave it."""
    provider: str
    """The provider that takes its messages."""
    contactTypes: List[Literal["phone", "email"]]
    """The types of contacts that it takes."""
    messageTypes: List[Literal["text", "template", "media"]]
    """The types of messages that it takes."""
    status: Literal["ready", "failing", "held"]
    """`ready`; `failing` while its circuit breaker is open; `held` while an operator, or a refusal of the provider, holds it. Sends are accepted in each of them, and wait."""
    statusSince: Optional[str]
    """Since when it is `failing` or `held`; null if it is `ready`."""
    statusReason: Optional[str]
    """Why it is `failing` or `held`; null if it is `ready`."""


class Channel(_ChannelRequired, total=False):
    """A channel of the account."""

    fallback: "ChannelFallback"
    """The channel by which its sends go on that it could not deliver. Absent if it has none."""


class RegisteredVariable(TypedDict):
    """A variable of a registered template."""

    key: str
    """The key of the variable."""
    required: bool
    """Whether a send has to give it."""


class RegisteredTemplate(TypedDict):
    """A template that is registered with a channel."""

    name: str
    """The name that sends use."""
    variables: List["RegisteredVariable"]
    """The variables that a send gives."""
    segments: Optional[int]
    """How many segments its text takes as SMS, without its variables. Null if the channel sends no SMS, or only the provider knows the text."""
    encoding: Optional[Literal["gsm-7", "ucs-2"]]
    """The encoding of that SMS; null as `segments` is."""
    setAt: str
    """When it was registered, or last changed."""


class Flow(TypedDict):
    """A flow of the account."""

    flowId: str
    """The id of the flow."""
    name: str
    """Its name, as its operator gave it."""


class ChannelList(TypedDict):
    requestId: str
    """The id of this request."""
    channels: List["Channel"]
    """The channels of the page, oldest first."""
    next: Optional[str]
    """The value of `after` for the next page. Null if there is none."""


class ShownChannelFallback(TypedDict):
    """The channel by which its sends go on that it could not deliver. Absent if it has none."""

    channelId: str
    """The id of that channel."""
    on: List[Literal["failed", "undelivered"]]
    """After what: the send `failed`, or the provider reported it as `undelivered`."""
    withinSeconds: int
    """No later than this after their accept."""


class _ShownChannelRequired(TypedDict):
    requestId: str
    """The id of this request."""
    channelId: str
    """The id of the channel."""
    name: str
    """Its name, as its operator gave it."""
    provider: str
    """The provider that takes its messages."""
    contactTypes: List[Literal["phone", "email"]]
    """The types of contacts that it takes."""
    messageTypes: List[Literal["text", "template", "media"]]
    """The types of messages that it takes."""
    status: Literal["ready", "failing", "held"]
    """`ready`; `failing` while its circuit breaker is open; `held` while an operator, or a refusal of the provider, holds it. Sends are accepted in each of them, and wait."""
    statusSince: Optional[str]
    """Since when it is `failing` or `held`; null if it is `ready`."""
    statusReason: Optional[str]
    """Why it is `failing` or `held`; null if it is `ready`."""


class ShownChannel(_ShownChannelRequired, total=False):
    """A channel of the account."""

    fallback: "ShownChannelFallback"
    """The channel by which its sends go on that it could not deliver. Absent if it has none."""


class TemplateList(TypedDict):
    requestId: str
    """The id of this request."""
    templates: List["RegisteredTemplate"]
    """The templates of the page, oldest first."""
    next: Optional[str]
    """The value of `after` for the next page. Null if there is none."""


class FlowList(TypedDict):
    requestId: str
    """The id of this request."""
    flows: List["Flow"]
    """The flows of the page, oldest first."""
    next: Optional[str]
    """The value of `after` for the next page. Null if there is none."""


class Endpoint(TypedDict):
    """Where the account gets callbacks."""

    endpointId: str
    """The id of the endpoint."""
    url: str
    """The address that is called."""
    events: Optional[List[Literal["message.sent", "message.failed", "message.uncertain", "message.canceled", "message.replayed", "message.fell_back", "message.delivered", "message.read", "message.undelivered", "message.complained", "message.unsubscribed", "account.ceiling"]]]
    """The types of callbacks that it gets. Null for all about sends, also those of later releases; `account.ceiling` comes only if it is named."""
    createdAt: str
    """When it was created."""
    disabledAt: Optional[str]
    """Since when it is disabled: it gets no calls, and its callbacks are kept."""
    disabledReason: Optional[str]
    """Why it is disabled."""
    failingSince: Optional[str]
    """Since when its calls have failed, without a 2xx in between."""
    answeredAt: Optional[str]
    """When it last answered with a 2xx, accurate to a minute."""
    breakerOpenUntil: Optional[str]
    """Until when it gets no call, because its calls keep failing."""
    waiting: int
    """How many callbacks wait for it; 10,000 stands for as many or more."""


class ShownEndpoint(TypedDict):
    """Where the account gets callbacks."""

    requestId: str
    """The id of this request."""
    endpointId: str
    """The id of the endpoint."""
    url: str
    """The address that is called."""
    events: Optional[List[Literal["message.sent", "message.failed", "message.uncertain", "message.canceled", "message.replayed", "message.fell_back", "message.delivered", "message.read", "message.undelivered", "message.complained", "message.unsubscribed", "account.ceiling"]]]
    """The types of callbacks that it gets. Null for all about sends, also those of later releases; `account.ceiling` comes only if it is named."""
    createdAt: str
    """When it was created."""
    disabledAt: Optional[str]
    """Since when it is disabled: it gets no calls, and its callbacks are kept."""
    disabledReason: Optional[str]
    """Why it is disabled."""
    failingSince: Optional[str]
    """Since when its calls have failed, without a 2xx in between."""
    answeredAt: Optional[str]
    """When it last answered with a 2xx, accurate to a minute."""
    breakerOpenUntil: Optional[str]
    """Until when it gets no call, because its calls keep failing."""
    waiting: int
    """How many callbacks wait for it; 10,000 stands for as many or more."""


class EndpointList(TypedDict):
    requestId: str
    """The id of this request."""
    endpoints: List["Endpoint"]
    """The endpoints of the page, oldest first."""
    next: Optional[str]
    """The value of `after` for the next page. Null if there is none."""


class _CreatedEndpointRequired(TypedDict):
    requestId: str
    """The id of this request."""
    endpointId: str
    """The id of the endpoint."""


class CreatedEndpoint(_CreatedEndpointRequired, total=False):
    secret: str
    """Signs the callbacks, by Standard Webhooks. It is in this answer only: keep it. A repeat by its Idempotency-Key has none."""


class RotatedSecret(TypedDict):
    """The new secret."""

    requestId: str
    """The id of this request."""
    endpointId: str
    """The id of the endpoint."""
    secret: str
    """Signs the callbacks, by Standard Webhooks. It is in this answer only: keep it."""
    bothSignUntil: str
    """Until when calls are signed with both secrets."""


class TestedCall(TypedDict):
    """What came of the first call."""

    requestId: str
    """The id of this request."""
    webhookId: str
    """The `webhook-id` of the call."""
    at: str
    """When the call ended."""
    status: Optional[int]
    """The HTTP status of the answer; null without one."""
    reason: Optional[str]
    """Why there was no answer; null with one."""
    durationMs: int
    """How long the call took, in milliseconds."""


class ResentCallbacks(TypedDict):
    """How many callbacks are sent again."""

    requestId: str
    """The id of this request."""
    resent: int
    """How many are sent again."""


class CallbackTry(TypedDict):
    """A call of the endpoint."""

    at: str
    """When the call ended."""
    status: Optional[int]
    """The HTTP status of the answer; null without one."""
    reason: Optional[str]
    """Why there was no answer; null with one."""
    durationMs: int
    """How long the call took, in milliseconds."""


class OwnCallback(TypedDict):
    """A callback of the endpoint."""

    webhookId: str
    """The `webhook-id` of its calls."""
    requestId: str
    """The send; of a test, the request that made it; of `account.ceiling`, an id of its own."""
    sequence: int
    """The number of the change; 0 for one about no send."""
    type: Literal["message.sent", "message.failed", "message.uncertain", "message.canceled", "message.replayed", "message.fell_back", "message.delivered", "message.read", "message.undelivered", "message.complained", "message.unsubscribed", "account.ceiling", "endpoint.test"]
    """The type."""
    at: str
    """When the change was recorded."""
    state: Literal["waiting", "delivered", "given_up"]
    """`waiting` for a call, the first or another; `delivered` after a 2xx; `given_up` after the last try."""
    tries: List["CallbackTry"]
    """The last calls, the oldest first."""
    nextTryAt: Optional[str]
    """When it is called next, at the earliest; null unless it waits."""


class CallbackList(TypedDict):
    requestId: str
    """The id of this request."""
    callbacks: List["OwnCallback"]
    """The callbacks of the page, newest first."""
    next: Optional[str]
    """The value of `after` for the next page. Null if there is none."""


class SecretRotation(TypedDict, total=False):
    """How to replace the secret."""

    overlapSeconds: Optional[int]
    """How long calls are signed with the former secret, too."""


class _CallbackResendRequired(TypedDict):
    since: str
    """Changes since then: a date and time with its offset, e.g. 2026-11-21T14:00:00Z, or how long ago, e.g. 90m, 1h or 2d."""


class CallbackResend(_CallbackResendRequired, total=False):
    """Which callbacks to send again."""

    only: Optional[Literal["given-up"]]
    """`given-up`: only callbacks that were given up."""


class KeyRateLimit(TypedDict):
    """The rate limit of the account."""

    points: int
    """The number of requests that the account may send"""
    seconds: int
    """in so many seconds."""


class Key(TypedDict):
    """The API key of the request."""

    requestId: str
    """The id of this request."""
    accountId: str
    """The account of the key."""
    accountName: str
    """Its name."""
    keyId: str
    """The id of the key. The operator revokes the key by it."""
    permissions: List[Literal["messages:send", "messages:read", "messages:content", "endpoints:manage", "suppressions:manage", "usage:read"]]
    """What the key may do. Others may be added."""
    expiresAt: Optional[str]
    """When the key expires. Null if it does not."""
    rateLimit: "KeyRateLimit"
    """The rate limit of the account."""


class _KnownContactRequired(TypedDict):
    type: Literal["phone", "email"]
    """The kind of `value`."""
    value: str
    """The normalised value: `+digits`, or an address with its domain in lower case."""


class KnownContact(_KnownContactRequired, total=False):
    name: str
    """The name, if the send has one."""


class TimelineMessageText(TypedDict):
    """A text."""

    value: str
    """The text."""


class TimelineMessageTemplateVariablesItem(TypedDict):
    key: str
    """Its key."""
    value: str
    """Its value."""


class TimelineMessageTemplate(TypedDict):
    """A template."""

    name: str
    """The name of the template."""
    variables: List["TimelineMessageTemplateVariablesItem"]
    """Its variables."""


class _TimelineMessageMediaRequired(TypedDict):
    mediaType: Literal["image", "video", "document", "audio"]
    """The kind of media."""


class TimelineMessageMedia(_TimelineMessageMediaRequired, total=False):
    """A media, without its bytes."""

    mimetype: str
    """The type of the content; if it was not given, as it was recognised."""
    filename: str
    """The name of the file."""
    caption: str
    """The text beside it."""
    mediaUrl: str
    """Its address."""
    sizeBytes: int
    """The size of content that was sent as base64."""


class _TimelineMessageRequired(TypedDict):
    type: Literal["text", "template", "media"]
    """The type of the message; the object of that name has its content."""


class TimelineMessage(_TimelineMessageRequired, total=False):
    """With `include=message`: what was sent. Null once it was erased."""

    text: "TimelineMessageText"
    """A text."""
    template: "TimelineMessageTemplate"
    """A template."""
    media: "TimelineMessageMedia"
    """A media, without its bytes."""


class _TimelineEmailAttachmentsItemRequired(TypedDict):
    filename: str
    """The name of the file."""


class TimelineEmailAttachmentsItem(_TimelineEmailAttachmentsItemRequired, total=False):
    mimetype: str
    """The type of the content; if it was not given, as it was recognised."""
    url: str
    """Its address."""
    contentId: str
    """By which the HTML shows it."""
    sizeBytes: int
    """The size of content that was sent as base64."""


class TimelineEmail(TypedDict, total=False):
    """With `include=message`: the `email` of the request. Null if it had none, or was erased."""

    subject: str
    """The subject."""
    html: str
    """The message as HTML."""
    fromName: str
    """The name of the sender."""
    replyTo: str
    """The address that answers go to."""
    headers: Dict[str, str]
    """Further headers."""
    tags: Dict[str, str]
    """Tags for the statistics of the vendor."""
    attachments: List["TimelineEmailAttachmentsItem"]
    """Files, without their bytes."""


class _TimelineRequired(TypedDict):
    requestId: str
    """The id of the send."""
    status: Literal["queued", "sending", "sent", "failed", "uncertain", "canceled"]
    """The state of the send.

    - `queued`: waits for the time that it is scheduled for, for its first attempt, for an earlier send to its contact, for a retry, or for its channel
    - `sending`: a worker has claimed it and is calling the provider
    - `sent`: the provider accepted the message, which does not mean that it was delivered or read; see `delivery`
    - `failed`: the provider refused it, the last retry failed, its provider stayed away, it has expired, its channel was deleted, its media is no longer kept, or workers kept crashing on it
    - `uncertain`: the provider may or may not have the message
    - `canceled`: it was canceled before the provider could have the message"""
    channelId: str
    """The channel of the request."""
    contact: "KnownContact"
    messageType: Literal["text", "template", "media"]
    """The type of the message."""
    flowId: Optional[str]
    """Null if the send has none."""
    conversationId: Optional[str]
    """Null until the first attempt."""
    acceptedAt: str
    """When the send was recorded, in UTC."""
    finishedAt: Optional[str]
    """Null until the send has ended."""
    attempts: int
    """The number of attempts so far."""
    providerMessageId: Optional[str]
    """The provider's own id of the message."""
    delivery: Optional[Literal["delivered", "read", "undelivered"]]
    """Null until the provider reports. Many channels get no reports."""
    deliveryAt: Optional[str]
    """When that report was recorded, in UTC."""
    sendAt: Optional[str]
    """The time for which it was scheduled, in UTC. Null if the request gave none."""
    nextAttemptAt: Optional[str]
    """When it is due, in UTC, while it waits for a time: `sendAt`, a retry, or the end of quiet hours. Null else."""
    priority: Literal["urgent", "normal", "bulk"]
    """What goes first among the messages of its channel."""
    reference: Optional[str]
    """Your own id of the send. Null if the request gave none, or after the contact was erased."""
    expiresInSeconds: Optional[int]
    """How long it may wait, counted from its accept or from `sendAt`. Null if the request gave no limit."""
    metadata: Optional[Dict[str, str]]
    """Your own notes. Null if the request gave none, or after the contact was erased."""
    segments: Optional[int]
    """How many segments the text takes as SMS, as vendors bill it. Null if it does not go as SMS, or only the provider knows the text."""
    encoding: Optional[Literal["gsm-7", "ucs-2"]]
    """The encoding of the SMS: `ucs-2`, with less than half of the characters in a segment, if a character is not in the alphabet of GSM. Null as `segments` is."""
    reason: Optional[str]
    """Why it ended `failed` or `uncertain`, or why it was `undelivered`, as its event says. For people. Null if there is none, or after the contact was erased."""
    providerCode: Optional[str]
    """The provider's own code of how it ended, or of why it was `undelivered`. Null if the provider gave none."""
    sentThrough: Optional[str]
    """The channel that has it now, if it fell back from `channelId`. Null if it never did."""
    events: List["TimelineEvent"]
    """The events so far, oldest first."""


class Timeline(_TimelineRequired, total=False):
    message: Optional["TimelineMessage"]
    """With `include=message`: what was sent. Null once it was erased."""
    email: Optional["TimelineEmail"]
    """With `include=message`: the `email` of the request. Null if it had none, or was erased."""


class SendSummary(TypedDict):
    """A send as in its timeline, without the events."""

    requestId: str
    """The id of the send."""
    status: Literal["queued", "sending", "sent", "failed", "uncertain", "canceled"]
    """The state of the send.

    - `queued`: waits for the time that it is scheduled for, for its first attempt, for an earlier send to its contact, for a retry, or for its channel
    - `sending`: a worker has claimed it and is calling the provider
    - `sent`: the provider accepted the message, which does not mean that it was delivered or read; see `delivery`
    - `failed`: the provider refused it, the last retry failed, its provider stayed away, it has expired, its channel was deleted, its media is no longer kept, or workers kept crashing on it
    - `uncertain`: the provider may or may not have the message
    - `canceled`: it was canceled before the provider could have the message"""
    channelId: str
    """The channel of the request."""
    contact: "KnownContact"
    messageType: Literal["text", "template", "media"]
    """The type of the message."""
    flowId: Optional[str]
    """Null if the send has none."""
    conversationId: Optional[str]
    """Null until the first attempt."""
    acceptedAt: str
    """When the send was recorded, in UTC."""
    finishedAt: Optional[str]
    """Null until the send has ended."""
    attempts: int
    """The number of attempts so far."""
    providerMessageId: Optional[str]
    """The provider's own id of the message."""
    delivery: Optional[Literal["delivered", "read", "undelivered"]]
    """Null until the provider reports. Many channels get no reports."""
    deliveryAt: Optional[str]
    """When that report was recorded, in UTC."""
    sendAt: Optional[str]
    """The time for which it was scheduled, in UTC. Null if the request gave none."""
    nextAttemptAt: Optional[str]
    """When it is due, in UTC, while it waits for a time: `sendAt`, a retry, or the end of quiet hours. Null else."""
    priority: Literal["urgent", "normal", "bulk"]
    """What goes first among the messages of its channel."""
    reference: Optional[str]
    """Your own id of the send. Null if the request gave none, or after the contact was erased."""
    expiresInSeconds: Optional[int]
    """How long it may wait, counted from its accept or from `sendAt`. Null if the request gave no limit."""
    metadata: Optional[Dict[str, str]]
    """Your own notes. Null if the request gave none, or after the contact was erased."""
    segments: Optional[int]
    """How many segments the text takes as SMS, as vendors bill it. Null if it does not go as SMS, or only the provider knows the text."""
    encoding: Optional[Literal["gsm-7", "ucs-2"]]
    """The encoding of the SMS: `ucs-2`, with less than half of the characters in a segment, if a character is not in the alphabet of GSM. Null as `segments` is."""
    reason: Optional[str]
    """Why it ended `failed` or `uncertain`, or why it was `undelivered`, as its event says. For people. Null if there is none, or after the contact was erased."""
    providerCode: Optional[str]
    """The provider's own code of how it ended, or of why it was `undelivered`. Null if the provider gave none."""
    sentThrough: Optional[str]
    """The channel that has it now, if it fell back from `channelId`. Null if it never did."""


class CanceledSend(TypedDict):
    requestId: str
    """The id of the send."""
    status: Literal["canceled", "uncertain"]
    """`uncertain` if an earlier attempt may have got through. In both cases nothing more is sent."""


class CanceledSends(TypedDict):
    requestId: str
    """The id of this request."""
    canceled: int
    """How many are canceled."""
    uncertain: int
    """How many are `uncertain`, because an earlier attempt may have got through. Nothing more is sent."""
    tooLate: int
    """How many were being sent at that moment. They go on."""
    next: Optional[str]
    """The value of `after` to go on with. Null if none was left."""


class CancelRequest(TypedDict, total=False):
    """Either `reference` or `flowId`."""

    reference: Optional[str]
    """Cancels what waits with this `reference`."""
    flowId: Optional[str]
    """Cancels what waits in this flow."""
    after: Optional[str]
    """The `next` of the answer before."""


class SendList(TypedDict):
    requestId: str
    """The id of this request."""
    messages: List["SendSummary"]
    """The messages of the page, newest first."""
    next: Optional[str]
    """The value of `after` for the next page. Null if there is none."""


class _MoveRequestContactRequired(TypedDict):
    value: str
    """A phone number with its country code, of a length that numbers of that country have: spaces, dots, dashes, parentheses and direction marks are dropped, and so is a trunk zero, as in `+49 (0)151`, where the country drops it. `+` or `00` in front is optional, but better. Or, with the type `email`, an e-mail address."""


class MoveRequestContact(_MoveRequestContactRequired, total=False):
    """The new recipient, as a whole: of a type that the channel takes for this message."""

    type: Optional[Literal["phone", "email"]]
    """The kind of `value`. Default: `phone`."""
    name: Optional[str]
    """The name of the contact."""


class MoveRequest(TypedDict, total=False):
    """What to change: one at least."""

    sendAt: Optional[str]
    """The new time: with an offset, as in RFC 3339. It is never sent earlier. At most 60 s ago, which means now."""
    contact: Optional["MoveRequestContact"]
    """The new recipient, as a whole: of a type that the channel takes for this message."""


class _WebhookReceiptRequired(TypedDict):
    requestId: str
    """The `requestId` that came with the message."""
    status: Literal["delivered", "read", "undelivered"]
    """What became of the message.

    - `delivered`: the contact got it
    - `read`: the contact read it
    - `undelivered`: it could not be delivered"""


class WebhookReceipt(_WebhookReceiptRequired, total=False):
    """What became of a message."""

    at: Optional[str]
    """When, by your clock."""
    code: Optional[str]
    """Your code of the failure."""
    reason: Optional[str]
    """Why it could not be delivered."""


class Wait(TypedDict):
    """A reason to wait."""

    reason: Literal["scheduled", "more_urgent", "held", "quiet_hours", "ceiling", "behind", "retry", "breaker_open", "waits_for_permit", "slow_start"]
    """What it waits for: `scheduled`, the time for which it is scheduled; `more_urgent`, more urgent messages of its channel; `held`, its channel, which is held; `quiet_hours`, the end of quiet hours; `ceiling`, the next period of a ceiling; `behind`, an earlier message to the same contact; `retry`, its next attempt; `breaker_open`, its channel's provider, which keeps failing; `waits_for_permit`, the limits of its channel; `slow_start`, an answer of the provider to one of its backlog."""
    until: Optional[str]
    """When that ends. Null if no time ends it."""


class DryRunFallback(TypedDict):
    """A channel by which it would go on if it is not delivered."""

    channelId: str
    """The channel by which it would go on."""
    on: List[Literal["failed", "undelivered"]]
    """After what."""
    withinSeconds: int
    """How long after its accept."""
    issue: Optional[str]
    """Why that channel could not send it. Null if it could."""


class _DryRunEmailAttachmentsItemRequired(TypedDict):
    filename: str
    """The name of the file."""


class DryRunEmailAttachmentsItem(_DryRunEmailAttachmentsItemRequired, total=False):
    mimetype: str
    """The type of the content; if it was not given, as it was recognised."""
    url: str
    """Its address."""
    contentId: str
    """By which the HTML shows it."""
    sizeBytes: int
    """The size of content that was sent as base64."""


class DryRunEmail(TypedDict, total=False):
    """The `email` of the request, without bytes. Null if it has none."""

    subject: str
    """The subject."""
    html: str
    """The message as HTML."""
    fromName: str
    """The name of the sender."""
    replyTo: str
    """The address that answers go to."""
    headers: Dict[str, str]
    """Further headers."""
    tags: Dict[str, str]
    """Tags for the statistics of the vendor."""
    attachments: List["DryRunEmailAttachmentsItem"]
    """Files, without their bytes."""


class DryRun(TypedDict):
    """What would become of the message. Nothing is recorded, and nothing is sent."""

    requestId: str
    """An id of this answer. It is no send."""
    wouldSend: bool
    """Whether it would be sent, as far as is known: now, or once what it waits for has ended."""
    reason: Optional[str]
    """Why it would not be sent, as its timeline would have it. Null if it would."""
    dueAt: Optional[str]
    """The earliest time at which its provider may be called, by what is known now. Null if it would not be sent."""
    waitsFor: List["Wait"]
    """What it would wait for, the strongest reason first."""
    channelId: str
    """The channel that would send it: a fallback if the contact is suppressed on its own alone."""
    fallbacks: List["DryRunFallback"]
    """The channels by which it would go on after that one, in their order."""
    suppressed: bool
    """Whether the contact is suppressed on the channel of the request."""
    segments: Optional[int]
    """How many segments it takes as SMS. Null if it is none."""
    encoding: Optional[Literal["gsm-7", "ucs-2"]]
    """Its encoding as SMS. Null if it is none."""
    email: Optional["DryRunEmail"]
    """The `email` of the request, without bytes. Null if it has none."""


class DryRunBatch(TypedDict):
    """What would become of the messages of a batch."""

    requestId: str
    """The id of this request."""
    messages: List["DryRun"]
    """In the order of the messages."""


class Accepted(TypedDict):
    """The send is recorded. Its timeline says when the message was sent."""

    requestId: str
    """The id of the send. Keep it."""


class AcceptedBatch(TypedDict):
    """All sends of the batch are recorded."""

    requestId: str
    """The id of this request. It is no send."""
    messages: List["Accepted"]
    """The sends, in the order of the messages."""


class _HealthRequired(TypedDict):
    status: Literal["ok"]
    """All is well."""


class Health(_HealthRequired, total=False):
    version: str
    """The version of the service; of `/healthz` alone."""


class SuppressionContact(TypedDict):
    """The suppressed contact."""

    type: Literal["phone", "email"]
    """The kind of `value`."""
    value: str
    """The contact, normalised; `erased` once it was erased. The suppression stays in force."""


class Suppression(TypedDict):
    """A suppressed contact."""

    suppressionId: str
    """The id of the entry."""
    contact: "SuppressionContact"
    """The suppressed contact."""
    channelId: Optional[str]
    """The channel for which the contact is suppressed; null: all channels of the account."""
    cause: Literal["manual", "bounce", "complaint", "opt_out"]
    """Why: `manual` by you or an operator; `bounce` after a message that could not be delivered for good; `complaint` after the contact complained; `opt_out` after the contact refused messages from this channel."""
    reason: Optional[str]
    """What was written beside it."""
    createdAt: str
    """When it was added."""
    requestId: Optional[str]
    """The send that caused it."""


class SuppressionList(TypedDict):
    requestId: str
    """The id of this request."""
    suppressions: List["Suppression"]
    """The suppressions of the page, oldest first."""
    next: Optional[str]
    """The value of `after` for the next page. Null if there is none."""


class _NewSuppressionContactRequired(TypedDict):
    value: str
    """A phone number or an e-mail address. It is normalised as in a send."""


class NewSuppressionContact(_NewSuppressionContactRequired, total=False):
    """The contact to suppress."""

    type: Optional[Literal["phone", "email"]]
    """The kind of `value`. Without it, it is recognised."""


class _NewSuppressionRequired(TypedDict):
    contact: "NewSuppressionContact"
    """The contact to suppress."""


class NewSuppression(_NewSuppressionRequired, total=False):
    """A contact to suppress."""

    channelId: Optional[str]
    """For this channel alone. Without it, for all of the account."""
    reason: Optional[str]
    """Why, for those who read the list."""


class AddedSuppressionContact(TypedDict):
    """The suppressed contact."""

    type: Literal["phone", "email"]
    """The kind of `value`."""
    value: str
    """The contact, normalised; `erased` once it was erased. The suppression stays in force."""


class AddedSuppression(TypedDict):
    """The entry."""

    requestId: str
    """The id of this request."""
    suppressionId: str
    """The id of the entry."""
    contact: "AddedSuppressionContact"
    """The suppressed contact."""
    channelId: Optional[str]
    """The channel for which the contact is suppressed; null: all channels of the account."""
    cause: Literal["manual", "bounce", "complaint", "opt_out"]
    """Why: `manual` by you or an operator; `bounce` after a message that could not be delivered for good; `complaint` after the contact complained; `opt_out` after the contact refused messages from this channel."""
    reason: Optional[str]
    """What was written beside it."""
    createdAt: str
    """When it was added."""


class Usage(TypedDict):
    """What was accepted, and what it is now."""

    day: Optional[str]
    """The day, in UTC. Null unless it is by day."""
    month: Optional[str]
    """The month, in UTC. Null unless it is by month."""
    channelId: Optional[str]
    """The channel of the request. Null unless it is by channel."""
    channelName: Optional[str]
    """Its name."""
    priority: Optional[Literal["urgent", "normal", "bulk"]]
    """The priority. Null unless it is by priority."""
    accepted: int
    """The sends that were accepted, scheduled ones included."""
    sent: int
    """Of these, those whose message the provider accepted."""
    delivered: int
    """Of these, those that were reported as delivered or read."""
    undelivered: int
    """Of the sent ones, those that were reported as undelivered."""
    failed: int
    """Those that failed."""
    uncertain: int
    """Those of which the provider may or may not have the message."""
    canceled: int
    """Those that were canceled."""
    segments: int
    """The segments of all that were accepted and go as SMS."""
    cost: Dict[str, str]
    """What they cost, by currency, as decimal numbers, as far as providers have said it: `{}` if none has."""


UsageList = TypedDict(
    "UsageList",
    {
        "requestId": str,
        "from": str,
        "to": str,
        "usage": List["Usage"],
    },
)
"""The usage of the account."""


class Index(TypedDict):
    service: str
    """The name of the service."""
    health: str
    """Whether the process is running."""
    readiness: str
    """Whether the process takes requests."""
    openapi: str
    """The OpenAPI document."""
    docs: str
    """The documentation: guides and routes."""
    send: List[str]
    """The routes that send messages."""
    cancelMany: str
    """The route that cancels all that waits with a reference, or in a flow."""
    list: str
    """The route that lists sends."""
    read: str
    """The route for a send's state and timeline."""
    move: str
    """The route that moves a scheduled send to another time or contact."""
    cancel: str
    """The route that cancels a send."""
    channels: str
    """The route that lists channels."""
    flows: str
    """The route that lists flows."""
    endpoints: str
    """The route that lists endpoints."""
    suppressions: str
    """The route that lists suppressed contacts."""
    key: str
    """The route that returns the API key of the request."""
    usage: str
    """The route that returns the usage of the account."""


class ChangedSend(TypedDict):
    """The send right after the change, without contact and content."""

    requestId: str
    """The id of the send."""
    reference: Optional[str]
    """The client's own id of the send."""
    metadata: Optional[Dict[str, str]]
    """Your own notes. Null if the request gave none, or after the contact was erased."""
    segments: Optional[int]
    """How many segments the text takes as SMS, as vendors bill it. Null if it does not go as SMS, or only the provider knows the text."""
    encoding: Optional[Literal["gsm-7", "ucs-2"]]
    """The encoding of the SMS: `ucs-2`, with less than half of the characters in a segment, if a character is not in the alphabet of GSM. Null as `segments` is."""
    priority: Literal["urgent", "normal", "bulk"]
    """What goes first among the messages of its channel."""
    sequence: int
    """Counts all changes of the send, also those that the endpoint does not take. Of two, the higher one is newer."""
    status: Literal["queued", "sending", "sent", "failed", "uncertain", "canceled"]
    """The state of the send."""
    delivery: Optional[Literal["delivered", "read", "undelivered"]]
    """What the provider reported after it accepted the message."""
    channelId: str
    """The channel of the request."""
    messageType: Literal["text", "template", "media"]
    """The type of the message."""
    flowId: Optional[str]
    """Null if the send has none."""
    conversationId: Optional[str]
    """Null until the first attempt."""
    attempts: int
    """The number of attempts so far."""
    providerAt: Optional[str]
    """The time of the provider's report, by its clock."""
    providerCode: Optional[str]
    """The provider's own code."""


class SendChange(TypedDict):
    """A change of a send."""

    type: Literal["message.sent", "message.failed", "message.uncertain", "message.canceled", "message.replayed", "message.fell_back", "message.delivered", "message.read", "message.undelivered", "message.complained", "message.unsubscribed"]
    """What changed."""
    timestamp: str
    """When the change was recorded, in UTC; the same at every try."""
    data: "ChangedSend"


class CeilingReport(TypedDict):
    accountId: str
    """The account."""
    channelId: Optional[str]
    """The channel that has the ceiling; null if the account has it."""
    ceiling: str
    """The ceiling, such as `10000 messages/day`."""
    percent: Literal[80, 100]
    """How much of it was used, in percent, at least."""
    until: str
    """The end of the period, in UTC."""


class CeilingUse(TypedDict):
    """A share of a ceiling was used."""

    type: Literal["account.ceiling"]
    """What changed."""
    timestamp: str
    """When the change was recorded, in UTC; the same at every try."""
    data: "CeilingReport"


class TestedEndpoint(TypedDict):
    endpointId: str
    """The endpoint."""


class EndpointTest(TypedDict):
    """A test of the endpoint."""

    type: Literal["endpoint.test"]
    """What changed."""
    timestamp: str
    """When the change was recorded, in UTC; the same at every try."""
    data: "TestedEndpoint"


class Error(TypedDict):
    """The body of every error, on every path."""

    statusCode: int
    """The HTTP status."""
    error: str
    """The name of the status."""
    message: str
    """What is wrong, for people. The wording may change, except for `Channel not found` and `flowId: no such flow`."""
    requestId: str
    """The id of this request. Quote it when you ask for help."""


class _SendRequestEmailAttachmentsItemRequired(TypedDict):
    filename: str
    """The name of the file, without a path."""


class SendRequestEmailAttachmentsItem(_SendRequestEmailAttachmentsItemRequired, total=False):
    mimetype: Optional[str]
    """The media type of the content. Default: the recognised type of `base64`. A type that contradicts the content is refused."""
    base64: Optional[str]
    """The content in base64, at most 16 MiB when decoded: the standard alphabet, line breaks ignored, padding optional. Or a URL of the form `data:<type>;base64,<content>`."""
    url: Optional[str]
    """The URL of the content, without user name and password. A host given as an IP address has to be a public one, and a port 80, 443 or one from 1024 on."""
    contentId: Optional[str]
    """By which the HTML shows it in its place: `<img src="cid:logo">` shows the attachment `logo`."""


class SendRequestEmail(TypedDict, total=False):
    """What a mail has besides its message. Only to a contact of the type `email`, by a channel that sends mail."""

    attachments: Optional[List["SendRequestEmailAttachmentsItem"]]
    """Files of the mail, together at most 16 MiB."""
    subject: Optional[str]
    """The subject, in place of that of the channel or of the template."""
    html: Optional[str]
    """The message as HTML, beside `message.text`, which mail programs without HTML show. It is sent as it is."""
    fromName: Optional[str]
    """The name of the sender. The address stays the channel's."""
    replyTo: Optional[str]
    """The address that answers go to."""
    headers: Optional[Dict[str, str]]
    """Further headers: `X-…`, `References`, `In-Reply-To`, `List-Unsubscribe`, `List-Unsubscribe-Post`, `Auto-Submitted`, `Precedence`. Values are ASCII on one line."""
    tags: Optional[Dict[str, str]]
    """Names and values for the statistics of mail vendors that have tags."""


class _SendRequestRequired(TypedDict):
    channelId: str
    """The channel that sends the message."""
    contact: "Contact"
    message: "Message"


class SendRequest(_SendRequestRequired, total=False):
    email: Optional["SendRequestEmail"]
    """What a mail has besides its message. Only to a contact of the type `email`, by a channel that sends mail."""
    flowId: Optional[str]
    """A flow of the account that the send belongs to."""
    closeConversation: Optional[bool]
    """Whether the contact's open conversation is closed before the first attempt. Default: false."""
    priority: Optional[Literal["urgent", "normal", "bulk"]]
    """What goes first among the messages of its channel that may go: urgent ones, such as a login code, then normal ones, then bulk ones, such as a campaign. An urgent one doesn't wait for earlier ones of its contact that aren't. Default: `normal`."""
    sendAt: Optional[str]
    """When to send it: a time with an offset, as in RFC 3339. It is never sent earlier. At most 60 s ago, which means now. Default: now."""
    reference: Optional[str]
    """An id of your own, such as that of an order. It is returned with the send, and found by `GET /v1/messages`. Any number of sends may have the same."""
    expiresInSeconds: Optional[int]
    """How long the send may wait, counted from its accept or from `sendAt`. If the provider has not been called by then, it fails with the reason `expired`. The channel may have a shorter limit of its own."""
    metadata: Optional[Dict[str, str]]
    """Notes of your own. They are returned with the send and its callbacks, and can not be searched. Up to 20 entries."""


class _ChannelSendRequestEmailAttachmentsItemRequired(TypedDict):
    filename: str
    """The name of the file, without a path."""


class ChannelSendRequestEmailAttachmentsItem(_ChannelSendRequestEmailAttachmentsItemRequired, total=False):
    mimetype: Optional[str]
    """The media type of the content. Default: the recognised type of `base64`. A type that contradicts the content is refused."""
    base64: Optional[str]
    """The content in base64, at most 16 MiB when decoded: the standard alphabet, line breaks ignored, padding optional. Or a URL of the form `data:<type>;base64,<content>`."""
    url: Optional[str]
    """The URL of the content, without user name and password. A host given as an IP address has to be a public one, and a port 80, 443 or one from 1024 on."""
    contentId: Optional[str]
    """By which the HTML shows it in its place: `<img src="cid:logo">` shows the attachment `logo`."""


class ChannelSendRequestEmail(TypedDict, total=False):
    """What a mail has besides its message. Only to a contact of the type `email`, by a channel that sends mail."""

    attachments: Optional[List["ChannelSendRequestEmailAttachmentsItem"]]
    """Files of the mail, together at most 16 MiB."""
    subject: Optional[str]
    """The subject, in place of that of the channel or of the template."""
    html: Optional[str]
    """The message as HTML, beside `message.text`, which mail programs without HTML show. It is sent as it is."""
    fromName: Optional[str]
    """The name of the sender. The address stays the channel's."""
    replyTo: Optional[str]
    """The address that answers go to."""
    headers: Optional[Dict[str, str]]
    """Further headers: `X-…`, `References`, `In-Reply-To`, `List-Unsubscribe`, `List-Unsubscribe-Post`, `Auto-Submitted`, `Precedence`. Values are ASCII on one line."""
    tags: Optional[Dict[str, str]]
    """Names and values for the statistics of mail vendors that have tags."""


class _ChannelSendRequestRequired(TypedDict):
    contact: "Contact"
    message: "Message"


class ChannelSendRequest(_ChannelSendRequestRequired, total=False):
    email: Optional["ChannelSendRequestEmail"]
    """What a mail has besides its message. Only to a contact of the type `email`, by a channel that sends mail."""
    flowId: Optional[str]
    """A flow of the account that the send belongs to."""
    closeConversation: Optional[bool]
    """Whether the contact's open conversation is closed before the first attempt. Default: false."""
    priority: Optional[Literal["urgent", "normal", "bulk"]]
    """What goes first among the messages of its channel that may go: urgent ones, such as a login code, then normal ones, then bulk ones, such as a campaign. An urgent one doesn't wait for earlier ones of its contact that aren't. Default: `normal`."""
    sendAt: Optional[str]
    """When to send it: a time with an offset, as in RFC 3339. It is never sent earlier. At most 60 s ago, which means now. Default: now."""
    reference: Optional[str]
    """An id of your own, such as that of an order. It is returned with the send, and found by `GET /v1/messages`. Any number of sends may have the same."""
    expiresInSeconds: Optional[int]
    """How long the send may wait, counted from its accept or from `sendAt`. If the provider has not been called by then, it fails with the reason `expired`. The channel may have a shorter limit of its own."""
    metadata: Optional[Dict[str, str]]
    """Notes of your own. They are returned with the send and its callbacks, and can not be searched. Up to 20 entries."""


class BatchRequest(TypedDict):
    messages: List["SendRequest"]
    """The messages. To one contact on one channel, they are sent in this order."""


class _NewEndpointRequired(TypedDict):
    url: str
    """`https`, to a public address; at most 2048 characters, without user, password and fragment. `http` and private addresses only as far as the operator allows it."""


class NewEndpoint(_NewEndpointRequired, total=False):
    """An endpoint to create."""

    events: Optional[List[Literal["message.sent", "message.failed", "message.uncertain", "message.canceled", "message.replayed", "message.fell_back", "message.delivered", "message.read", "message.undelivered", "message.complained", "message.unsubscribed", "account.ceiling"]]]
    """The types of callbacks that it gets. Null for all about sends, also those of later releases; `account.ceiling` comes only if it is named."""


class EndpointChange(TypedDict, total=False):
    """At least one field to change."""

    url: Optional[str]
    """`https`, to a public address; at most 2048 characters, without user, password and fragment. `http` and private addresses only as far as the operator allows it."""
    events: Optional[List[Literal["message.sent", "message.failed", "message.uncertain", "message.canceled", "message.replayed", "message.fell_back", "message.delivered", "message.read", "message.undelivered", "message.complained", "message.unsubscribed", "account.ceiling"]]]
    """The types of callbacks that it gets. Null for all about sends, also those of later releases; `account.ceiling` comes only if it is named."""


class AcceptedEvent(TypedDict):
    """The send is recorded."""

    at: str
    """The time, in UTC."""
    event: Literal["accepted"]
    """The name of the event."""


class TriedEvent(TypedDict):
    """An operator tried the channel with it: no client posted it."""

    at: str
    """The time, in UTC."""
    event: Literal["tried"]
    """The name of the event."""


class _ScheduledEventRequired(TypedDict):
    at: str
    """The time, in UTC."""
    event: Literal["scheduled"]
    """The name of the event."""
    sendAt: str
    """Not before this time, in UTC."""


class ScheduledEvent(_ScheduledEventRequired, total=False):
    """It was accepted to be sent later, or was moved to another time or contact."""

    contactChanged: Literal[True]
    """It was given to another contact."""


class ConversationClosedEvent(TypedDict):
    """The open conversation was closed."""

    at: str
    """The time, in UTC."""
    event: Literal["conversation_closed"]
    """The name of the event."""
    conversationId: Optional[str]
    """Null if none was open."""


class AttemptStartedEvent(TypedDict):
    """A worker has claimed the send and is about to call the provider."""

    at: str
    """The time, in UTC."""
    event: Literal["attempt_started"]
    """The name of the event."""
    attempt: int
    """The number of the attempt, from 1."""
    worker: str
    """The random name of the worker."""


class AttemptFinishedEventCost(TypedDict):
    """The cost of the message, if the provider says something of it."""

    amount: Optional[str]
    """The price of the whole message, as a decimal number."""
    currency: Optional[str]
    """The currency of `amount`, such as `EUR`."""
    parts: Optional[int]
    """How many parts, or segments, the provider bills."""


class _AttemptFinishedEventRequired(TypedDict):
    at: str
    """The time, in UTC."""
    event: Literal["attempt_finished"]
    """The name of the event."""
    attempt: int
    """The number of the attempt, from 1."""
    outcome: Literal["sent", "rejected", "retry_later", "channel_refused", "not_called", "uncertain"]
    """The outcome of the attempt.

    - `sent`: the provider accepted the message
    - `rejected`: the provider refused the message for good
    - `retry_later`: the provider can't take the message now
    - `channel_refused`: the provider refused the channel, whatever the message
    - `not_called`: the provider was not called
    - `uncertain`: the call may or may not have gone through"""
    durationMs: int
    """How long the call took."""
    providerStatus: Optional[int]
    """The provider's status."""
    providerCode: Optional[str]
    """The provider's own code, of a failure or of an accepted message that it holds back."""
    providerMessageId: Optional[str]
    """The provider's own id of the message."""


class AttemptFinishedEvent(_AttemptFinishedEventRequired, total=False):
    """The call is over, or was not made."""

    cost: "AttemptFinishedEventCost"
    """The cost of the message, if the provider says something of it."""
    fault: Literal["provider", "recipient", "message", "sender"]
    """Whose fault a failed call is.

    - `provider`: the provider's: its API, its server, or the connection to it
    - `recipient`: the contact's: for example a full mailbox, or a limit of messages to one contact
    - `message`: the message's, or its media's
    - `sender`: the channel's: its credentials, the number or address that it sends from, its account and limits"""
    reason: Optional[str]
    """Why it was not sent."""
    late: Literal[True]
    """The attempt had been given up before."""


class _AttemptLostEventRequired(TypedDict):
    at: str
    """The time, in UTC."""
    event: Literal["attempt_lost"]
    """The name of the event."""
    attempt: int
    """The number of the attempt, from 1."""
    reason: Optional[str]
    """For people: rely only on `given up` at its beginning and `(the last attempt)` at its end. Null or absent after the contact was erased."""


class AttemptLostEvent(_AttemptLostEventRequired, total=False):
    """The attempt's worker counts as dead. Unless `outcome` says so, it is unknown whether the provider was called."""

    outcome: Literal["not_called"]
    """The provider was certainly not called. The attempt is not counted, and the send is tried again."""


class RetryScheduledEvent(TypedDict):
    """There will be another attempt."""

    at: str
    """The time, in UTC."""
    event: Literal["retry_scheduled"]
    """The name of the event."""
    reason: Optional[str]
    """For people: rely only on `given up` at its beginning and `(the last attempt)` at its end. Null or absent after the contact was erased."""
    nextAttemptAt: str
    """The time of the next attempt, in UTC."""


class PostponedEvent(TypedDict):
    """It waits for the end of the quiet hours of its channel, or for the next period of a ceiling."""

    at: str
    """The time, in UTC."""
    event: Literal["postponed"]
    """The name of the event."""
    reason: Optional[str]
    """For people: rely only on `given up` at its beginning and `(the last attempt)` at its end. Null or absent after the contact was erased."""
    nextAttemptAt: str
    """The time of the next attempt, in UTC."""


class ChannelHeldEvent(TypedDict):
    """The channel is held; the send waits for it to be resumed."""

    at: str
    """The time, in UTC."""
    event: Literal["channel_held"]
    """The name of the event."""
    reason: Optional[str]
    """For people: rely only on `given up` at its beginning and `(the last attempt)` at its end. Null or absent after the contact was erased."""


class SentEvent(TypedDict):
    """The end, unless it falls back: the provider accepted the message."""

    at: str
    """The time, in UTC."""
    event: Literal["sent"]
    """The name of the event."""


class _FailedEventRequired(TypedDict):
    at: str
    """The time, in UTC."""
    event: Literal["failed"]
    """The name of the event."""


class FailedEvent(_FailedEventRequired, total=False):
    """The end, unless it is replayed."""

    reason: Optional[str]
    """For people: rely only on `given up` at its beginning and `(the last attempt)` at its end. Null or absent after the contact was erased."""


class _UncertainEventRequired(TypedDict):
    at: str
    """The time, in UTC."""
    event: Literal["uncertain"]
    """The name of the event."""


class UncertainEvent(_UncertainEventRequired, total=False):
    """The end, unless the outcome comes late, or it is settled or replayed."""

    reason: Optional[str]
    """For people: rely only on `given up` at its beginning and `(the last attempt)` at its end. Null or absent after the contact was erased."""


SettledEvent = TypedDict(
    "SettledEvent",
    {
        "at": str,
        "event": Literal["settled"],
        "as": Literal["sent", "failed"],
        "reason": Optional[str],
    },
)
"""A person looked for an uncertain send at the provider, and settled it."""


class CanceledEvent(TypedDict):
    """The end: it was canceled before the provider could have it."""

    at: str
    """The time, in UTC."""
    event: Literal["canceled"]
    """The name of the event."""


class ReplayedEvent(TypedDict):
    """An operator replayed the send."""

    at: str
    """The time, in UTC."""
    event: Literal["replayed"]
    """The name of the event."""
    nextAttemptAt: str
    """The time of the next attempt, in UTC."""


class DeliveredEventCost(TypedDict):
    """The cost of the message, if the provider says something of it."""

    amount: Optional[str]
    """The price of the whole message, as a decimal number."""
    currency: Optional[str]
    """The currency of `amount`, such as `EUR`."""
    parts: Optional[int]
    """How many parts, or segments, the provider bills."""


class _DeliveredEventRequired(TypedDict):
    at: str
    """The time, in UTC."""
    event: Literal["delivered"]
    """The name of the event."""
    providerStatus: str
    """The provider's own word."""
    providerAt: Optional[str]
    """The time by the provider's clock, as far as it gave one: for people, never for order."""
    providerCode: Optional[str]
    """The provider's own code of the failure."""
    providerMessageId: Optional[str]
    """The provider's own id of the message."""


class DeliveredEvent(_DeliveredEventRequired, total=False):
    """The provider reports that the contact got the message."""

    cost: "DeliveredEventCost"
    """The cost of the message, if the provider says something of it."""
    reason: Optional[str]
    """Why it was not delivered."""


class ReadEventCost(TypedDict):
    """The cost of the message, if the provider says something of it."""

    amount: Optional[str]
    """The price of the whole message, as a decimal number."""
    currency: Optional[str]
    """The currency of `amount`, such as `EUR`."""
    parts: Optional[int]
    """How many parts, or segments, the provider bills."""


class _ReadEventRequired(TypedDict):
    at: str
    """The time, in UTC."""
    event: Literal["read"]
    """The name of the event."""
    providerStatus: str
    """The provider's own word."""
    providerAt: Optional[str]
    """The time by the provider's clock, as far as it gave one: for people, never for order."""
    providerCode: Optional[str]
    """The provider's own code of the failure."""
    providerMessageId: Optional[str]
    """The provider's own id of the message."""


class ReadEvent(_ReadEventRequired, total=False):
    """The provider reports that the contact read the message."""

    cost: "ReadEventCost"
    """The cost of the message, if the provider says something of it."""
    reason: Optional[str]
    """Why it was not delivered."""


class UndeliveredEventCost(TypedDict):
    """The cost of the message, if the provider says something of it."""

    amount: Optional[str]
    """The price of the whole message, as a decimal number."""
    currency: Optional[str]
    """The currency of `amount`, such as `EUR`."""
    parts: Optional[int]
    """How many parts, or segments, the provider bills."""


class _UndeliveredEventRequired(TypedDict):
    at: str
    """The time, in UTC."""
    event: Literal["undelivered"]
    """The name of the event."""
    providerStatus: str
    """The provider's own word."""
    providerAt: Optional[str]
    """The time by the provider's clock, as far as it gave one: for people, never for order."""
    providerCode: Optional[str]
    """The provider's own code of the failure."""
    providerMessageId: Optional[str]
    """The provider's own id of the message."""


class UndeliveredEvent(_UndeliveredEventRequired, total=False):
    """The provider reports that it could not deliver the message. A send that was `uncertain` or due for a retry is `sent` by it; with a fallback, the send may go on."""

    cost: "UndeliveredEventCost"
    """The cost of the message, if the provider says something of it."""
    reason: Optional[str]
    """Why it was not delivered."""


class ReceiptEventCost(TypedDict):
    """The cost of the message, if the provider says something of it."""

    amount: Optional[str]
    """The price of the whole message, as a decimal number."""
    currency: Optional[str]
    """The currency of `amount`, such as `EUR`."""
    parts: Optional[int]
    """How many parts, or segments, the provider bills."""


class _ReceiptEventRequired(TypedDict):
    at: str
    """The time, in UTC."""
    event: Literal["receipt"]
    """The name of the event."""
    providerStatus: str
    """The provider's own word."""
    providerAt: Optional[str]
    """The time by the provider's clock, as far as it gave one: for people, never for order."""
    providerCode: Optional[str]
    """The provider's own code of the failure."""
    providerMessageId: Optional[str]
    """The provider's own id of the message."""


class ReceiptEvent(_ReceiptEventRequired, total=False):
    """Another receipt of the provider came, which did not change `delivery`."""

    cost: "ReceiptEventCost"
    """The cost of the message, if the provider says something of it."""
    reason: Optional[str]
    """Why it was not delivered."""


class ComplainedEventCost(TypedDict):
    """The cost of the message, if the provider says something of it."""

    amount: Optional[str]
    """The price of the whole message, as a decimal number."""
    currency: Optional[str]
    """The currency of `amount`, such as `EUR`."""
    parts: Optional[int]
    """How many parts, or segments, the provider bills."""


class _ComplainedEventRequired(TypedDict):
    at: str
    """The time, in UTC."""
    event: Literal["complained"]
    """The name of the event."""
    providerStatus: str
    """The provider's own word."""
    providerAt: Optional[str]
    """The time by the provider's clock, as far as it gave one: for people, never for order."""
    providerCode: Optional[str]
    """The provider's own code of the failure."""
    providerMessageId: Optional[str]
    """The provider's own id of the message."""


class ComplainedEvent(_ComplainedEventRequired, total=False):
    """The provider reports that the contact complained about the message. Status and delivery stay."""

    cost: "ComplainedEventCost"
    """The cost of the message, if the provider says something of it."""
    reason: Optional[str]
    """Why it was not delivered."""


class UnsubscribedEvent(TypedDict):
    """The contact unsubscribed by the address in the message. Status and delivery stay."""

    at: str
    """The time, in UTC."""
    event: Literal["unsubscribed"]
    """The name of the event."""


class FellBackEvent(TypedDict):
    """It goes on by the fallback of its channel, instead of its end there."""

    at: str
    """The time, in UTC."""
    event: Literal["fell_back"]
    """The name of the event."""
    fromChannelId: str
    """The channel that had it until then."""
    toChannelId: str
    """The channel that has it now."""
    reason: Optional[str]
    """For people: rely only on `given up` at its beginning and `(the last attempt)` at its end. Null or absent after the contact was erased."""


class ErasedEvent(TypedDict):
    """An operator erased content and contact of the send."""

    at: str
    """The time, in UTC."""
    event: Literal["erased"]
    """The name of the event."""


class _ContactRequired(TypedDict):
    value: str
    """A phone number with its country code, of a length that numbers of that country have: spaces, dots, dashes, parentheses and direction marks are dropped, and so is a trunk zero, as in `+49 (0)151`, where the country drops it. `+` or `00` in front is optional, but better. Or, with the type `email`, an e-mail address."""


class Contact(_ContactRequired, total=False):
    """The recipient of the message."""

    type: Optional[Literal["phone", "email"]]
    """The kind of `value`. Default: `phone`."""
    name: Optional[str]
    """The name of the contact."""


class _TextMessageRequired(TypedDict):
    type: Literal["text"]
    """The name of the object with the content."""
    text: "Text"


class TextMessage(_TextMessageRequired, total=False):
    """A message of the type `text`."""

    flowId: Optional[str]
    """The same as the top-level `flowId`. If both are given, they have to be equal."""
    closeConversation: Optional[bool]
    """The same as the top-level `closeConversation`. If both are given, they have to be equal."""


class _TemplateMessageRequired(TypedDict):
    type: Literal["template"]
    """The name of the object with the content."""
    template: "Template"


class TemplateMessage(_TemplateMessageRequired, total=False):
    """A message of the type `template`."""

    flowId: Optional[str]
    """The same as the top-level `flowId`. If both are given, they have to be equal."""
    closeConversation: Optional[bool]
    """The same as the top-level `closeConversation`. If both are given, they have to be equal."""


class _MediaMessageRequired(TypedDict):
    type: Literal["media"]
    """The name of the object with the content."""
    media: "Media"


class MediaMessage(_MediaMessageRequired, total=False):
    """A message of the type `media`."""

    flowId: Optional[str]
    """The same as the top-level `flowId`. If both are given, they have to be equal."""
    closeConversation: Optional[bool]
    """The same as the top-level `closeConversation`. If both are given, they have to be equal."""


class Text(TypedDict):
    """The content of a `text`."""

    value: str
    """The text, not only of white space. Channels of some providers accept only shorter ones."""


class _TemplateRequired(TypedDict):
    name: str
    """The name under which the template is registered with the channel."""


class Template(_TemplateRequired, total=False):
    """The content of a `template`."""

    variables: Optional[List["TemplateVariable"]]
    """The variables of the template, each `key` once. A registered template needs all of its variables and no others. Default: none."""


class TemplateVariable(TypedDict):
    """A variable and its value."""

    key: str
    """The name of the variable."""
    value: str
    """The value of the variable."""


class _MediaByContentRequired(TypedDict):
    mediaType: Literal["image", "video", "document", "audio"]
    """The kind of media. The content of an `image` has to be recognised as one; a `document` may be anything. A channel may accept fewer kinds."""
    base64: str
    """The content in base64, at most 16 MiB when decoded: the standard alphabet, line breaks ignored, padding optional. Or a URL of the form `data:<type>;base64,<content>`."""


class MediaByContent(_MediaByContentRequired, total=False):
    """A media with its `base64`."""

    mimetype: Optional[str]
    """The media type of the content. Default: the recognised type of `base64`. A type that contradicts the content is refused."""
    filename: Optional[str]
    """A name without a path and without direction marks."""
    caption: Optional[str]
    """A text shown with the media."""
    mediaUrl: Optional[str]
    """The URL of the content, without user name and password. A host given as an IP address has to be a public one, and a port 80, 443 or one from 1024 on."""


class _MediaByUrlRequired(TypedDict):
    mediaType: Literal["image", "video", "document", "audio"]
    """The kind of media. The content of an `image` has to be recognised as one; a `document` may be anything. A channel may accept fewer kinds."""
    mediaUrl: str
    """The URL of the content, without user name and password. A host given as an IP address has to be a public one, and a port 80, 443 or one from 1024 on."""


class MediaByUrl(_MediaByUrlRequired, total=False):
    """A media with its `mediaUrl`."""

    mimetype: Optional[str]
    """The media type of the content. Default: the recognised type of `base64`. A type that contradicts the content is refused."""
    filename: Optional[str]
    """A name without a path and without direction marks."""
    caption: Optional[str]
    """A text shown with the media."""
    base64: Optional[str]
    """The content in base64, at most 16 MiB when decoded: the standard alphabet, line breaks ignored, padding optional. Or a URL of the form `data:<type>;base64,<content>`."""


TimelineEvent = Union["AcceptedEvent", "TriedEvent", "ScheduledEvent", "ConversationClosedEvent", "AttemptStartedEvent", "AttemptFinishedEvent", "AttemptLostEvent", "RetryScheduledEvent", "PostponedEvent", "ChannelHeldEvent", "SentEvent", "FailedEvent", "UncertainEvent", "SettledEvent", "CanceledEvent", "ReplayedEvent", "DeliveredEvent", "ReadEvent", "UndeliveredEvent", "ReceiptEvent", "ComplainedEvent", "UnsubscribedEvent", "FellBackEvent", "ErasedEvent"]

ErrorCode = Literal["invalid_http", "invalid_body", "unsupported_content_type", "body_too_large", "body_incomplete", "invalid_query", "invalid_idempotency_key", "invalid_media", "invalid_template", "flow_not_found", "unsupported_by_channel", "batch_too_large", "too_many_endpoints", "endpoint_disabled", "invalid_receipt", "invalid_api_key", "missing_permission", "invalid_signature", "channel_not_found", "message_not_found", "endpoint_not_found", "suppression_not_found", "unsubscribe_link_not_found", "media_not_found", "route_not_found", "method_not_allowed", "not_cancelable", "not_movable", "idempotency_key_reused", "rate_limited", "ceiling_reached", "key_rate_limited", "too_many_failures", "internal_error", "unavailable", "endpoint_not_called", "not_ready"]

Message = Union["TextMessage", "TemplateMessage", "MediaMessage"]

Media = Union["MediaByContent", "MediaByUrl"]

Callback = Union["SendChange", "CeilingUse", "EndpointTest"]
"""The body of a callback, as an endpoint gets it. Its `type` says which."""
