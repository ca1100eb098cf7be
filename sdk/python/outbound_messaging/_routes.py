# Written by `npm run clients` from the OpenAPI document, not by hand.
"""Every route of the API that is for clients, as a method: for plain calls, and for asyncio."""
from typing import Any, AsyncIterator, Dict, Iterator, List, Literal, Optional, Union

from . import types
from ._call import segment


class Routes:
    """The methods of `Client`."""

    def _once(self, method: str, path: str, **call: Any) -> Any:
        raise NotImplementedError

    def _items(self, field: str, path: str, query: Dict[str, Any]) -> Iterator[Any]:
        raise NotImplementedError

    def send_message(
        self,
        body: "types.SendRequest",
        *,
        idempotency_key: Optional[str] = None,
    ) -> "types.Accepted":
        """Send a message; the channel is in the body.

        Checks the key, the permission, the body, the channel, the channel's own limits, the Idempotency-Key and the rate limit, in this order, and answers with the first error. With `dryRun=true` it checks the same, and answers what would become of the message.

        idempotency_key: an id of your own for this request. Without one, each call makes a key, which its repeats share.
"""
        return self._once("POST", "/v1/messages", body=body, is_keyed=True, idempotency_key=idempotency_key, is_repeatable=True)

    def explain_message(
        self,
        body: "types.SendRequest",
    ) -> "types.DryRun":
        """Find what `sendMessage` would do, and send nothing.

        What would become of the message. Nothing is recorded, and nothing is sent.
"""
        return self._once("POST", "/v1/messages", query={"dryRun": "true"}, body=body, is_repeatable=True)

    def list_messages(
        self,
        *,
        limit: Optional[int] = None,
        after: Optional[str] = None,
        status: Optional[Literal["queued", "sending", "sent", "failed", "uncertain", "canceled"]] = None,
        delivery: Optional[Literal["delivered", "read", "undelivered"]] = None,
        channel_id: Optional[str] = None,
        flow_id: Optional[str] = None,
        contact: Optional[str] = None,
        priority: Optional[Literal["urgent", "normal", "bulk"]] = None,
        reference: Optional[str] = None,
        provider_code: Optional[str] = None,
        accepted_from: Optional[str] = None,
        accepted_to: Optional[str] = None,
    ) -> Iterator["types.SendSummary"]:
        """List the sends of the account, newest first.

        Ordered by acceptance time, including scheduled sends. A page may have fewer than `limit` sends, or none, since it looks at no more than 30,000 scheduled and 30,000 other sends: go on until `next` is null. Each send that is there from the first page to the last is on exactly one. Reading doesn't count for the account's rate limit, but for the limit of the key.

        limit: How many sends a page has at most.
        after: The `next` of the page before.
        status: Only sends with this status.
        delivery: Only sends with this delivery state, as the provider reported it.
        channel_id: Only sends of this channel.
        flow_id: Only sends of this flow.
        contact: Only sends to this contact. It is normalised as in a send. A `+` need not be written as `%2B`.
        priority: Only sends with this `priority`.
        reference: Only sends with this `reference`.
        provider_code: Only sends with this `providerCode`.
        accepted_from: Only sends accepted at this time or later.
        accepted_to: Only sends accepted before this time.
"""
        return self._items("messages", "/v1/messages", {"limit": limit, "after": after, "status": status, "delivery": delivery, "channelId": channel_id, "flowId": flow_id, "contact": contact, "priority": priority, "reference": reference, "providerCode": provider_code, "acceptedFrom": accepted_from, "acceptedTo": accepted_to})

    def send_message_on_channel(
        self,
        channel_id: str,
        body: "types.ChannelSendRequest",
        *,
        idempotency_key: Optional[str] = None,
    ) -> "types.Accepted":
        """Send a message; the channel is in the path.

        Checks the key, the permission, the body, the channel, the channel's own limits, the Idempotency-Key and the rate limit, in this order, and answers with the first error. With `dryRun=true` it checks the same, and answers what would become of the message.

        idempotency_key: an id of your own for this request. Without one, each call makes a key, which its repeats share.
"""
        return self._once("POST", f"/v1/channels/{segment(channel_id)}/messages", body=body, is_keyed=True, idempotency_key=idempotency_key, is_repeatable=True)

    def explain_message_on_channel(
        self,
        channel_id: str,
        body: "types.ChannelSendRequest",
    ) -> "types.DryRun":
        """Find what `sendMessageOnChannel` would do, and send nothing.

        What would become of the message. Nothing is recorded, and nothing is sent.
"""
        return self._once("POST", f"/v1/channels/{segment(channel_id)}/messages", query={"dryRun": "true"}, body=body, is_repeatable=True)

    def send_batch(
        self,
        body: "types.BatchRequest",
        *,
        idempotency_key: Optional[str] = None,
    ) -> "types.AcceptedBatch":
        """Send up to 100 messages, all or none.

        Each message is a body of `POST /v1/messages`, and is checked like one. All are recorded in one transaction, or none: a 400 names the faulty ones. The batch counts as its number of messages for the rate limit. An Idempotency-Key is for the whole batch. With `dryRun=true` nothing is recorded.

        idempotency_key: an id of your own for this request. Without one, each call makes a key, which its repeats share.
"""
        return self._once("POST", "/v1/messages/batch", body=body, is_keyed=True, idempotency_key=idempotency_key, is_repeatable=True)

    def explain_batch(
        self,
        body: "types.BatchRequest",
    ) -> "types.DryRunBatch":
        """Find what `sendBatch` would do, and send nothing.

        What would become of the messages, in their order. Nothing is recorded, and nothing is sent.
"""
        return self._once("POST", "/v1/messages/batch", query={"dryRun": "true"}, body=body, is_repeatable=True)

    def cancel_messages(
        self,
        body: "types.CancelRequest",
    ) -> "types.CanceledSends":
        """Cancel all that waits with a reference, or in a flow.

        At most 10,000 sends, the oldest first: go on until `next` is null. Each is canceled as by a request of its own. After a 200, their providers are not called any more. A repeat finds nothing more to cancel.
"""
        return self._once("POST", "/v1/messages/cancel", body=body, is_repeatable=True)

    def get_message(
        self,
        request_id: str,
        *,
        include: Optional[Literal["message"]] = None,
    ) -> "types.Timeline":
        """Read a send's state and timeline.

        The send's state and its timeline. `sent` means accepted by the provider, not delivered to the contact. The permission `messages:read` reads it; with `include=message`, `messages:content` does. Reading doesn't count for the account's rate limit, but for the limit of the key.

        include: `message`: with what was sent. The key needs the permission `messages:content`.
"""
        return self._once("GET", f"/v1/messages/{segment(request_id)}", query={"include": include}, is_repeatable=True)

    def move_message(
        self,
        request_id: str,
        body: "types.MoveRequest",
    ) -> "types.SendSummary":
        """Move a scheduled send to another time or contact.

        Before its time has come. Its place in its contact's order and its expiry count from the new time. Another contact takes the place of the first one, on the same channel. The timeline has the event `scheduled` again.
"""
        return self._once("PATCH", f"/v1/messages/{segment(request_id)}", body=body, is_repeatable=True)

    def cancel_message(
        self,
        request_id: str,
    ) -> "types.CanceledSend":
        """Cancel a send that waits.

        A scheduled send, or one that is `queued`. After a 200, its provider is not called any more. A repeat gets the same answer, unless the send is `uncertain`.
"""
        return self._once("POST", f"/v1/messages/{segment(request_id)}/cancel", is_repeatable=True)

    def list_channels(
        self,
        *,
        limit: Optional[int] = None,
        after: Optional[str] = None,
    ) -> Iterator["types.Channel"]:
        """List the channels of the account, oldest first.

        Their ids, what they take, and whether they work. Without their configs. Counts for the rate limit as a send.

        limit: How many channels a page has at most.
        after: The `next` of the page before.
"""
        return self._items("channels", "/v1/channels", {"limit": limit, "after": after})

    def get_channel(
        self,
        channel_id: str,
    ) -> "types.ShownChannel":
        """Read a channel.

        As the list has it. Counts for the rate limit as a send.
"""
        return self._once("GET", f"/v1/channels/{segment(channel_id)}", is_repeatable=True)

    def list_templates(
        self,
        channel_id: str,
        *,
        limit: Optional[int] = None,
        after: Optional[str] = None,
    ) -> Iterator["types.RegisteredTemplate"]:
        """List the templates of a channel, oldest first.

        Templates that are registered with it, and the variables that a send gives. A template that is changed becomes the newest. Counts for the rate limit as a send.

        limit: How many templates a page has at most.
        after: The `next` of the page before.
"""
        return self._items("templates", f"/v1/channels/{segment(channel_id)}/templates", {"limit": limit, "after": after})

    def list_flows(
        self,
        *,
        limit: Optional[int] = None,
        after: Optional[str] = None,
    ) -> Iterator["types.Flow"]:
        """List the flows of the account, oldest first.

        A send may name one as `flowId`. Counts for the rate limit as a send.

        limit: How many flows a page has at most.
        after: The `next` of the page before.
"""
        return self._items("flows", "/v1/flows", {"limit": limit, "after": after})

    def list_endpoints(
        self,
        *,
        limit: Optional[int] = None,
        after: Optional[str] = None,
    ) -> Iterator["types.Endpoint"]:
        """List the endpoints of the account, oldest first.

        Where the account gets callbacks about its sends, and how the calls go. Counts for the rate limit as a send.

        limit: How many endpoints a page has at most.
        after: The `next` of the page before.
"""
        return self._items("endpoints", "/v1/endpoints", {"limit": limit, "after": after})

    def create_endpoint(
        self,
        body: "types.NewEndpoint",
        *,
        idempotency_key: Optional[str] = None,
    ) -> "types.CreatedEndpoint":
        """Create an endpoint.

        Its secret is in this answer only. An account has 10 endpoints at most. Counts for the rate limit as a send.

        idempotency_key: an id of your own for this request. Without one, each call makes a key, which its repeats share.
"""
        return self._once("POST", "/v1/endpoints", body=body, is_keyed=True, idempotency_key=idempotency_key)

    def get_endpoint(
        self,
        endpoint_id: str,
    ) -> "types.ShownEndpoint":
        """Read an endpoint.

        As the list has it. Counts for the rate limit as a send.
"""
        return self._once("GET", f"/v1/endpoints/{segment(endpoint_id)}", is_repeatable=True)

    def update_endpoint(
        self,
        endpoint_id: str,
        body: "types.EndpointChange",
    ) -> "types.ShownEndpoint":
        """Change an endpoint.

        A call that has begun, and those that a worker has read already, still go to the former URL. Counts for the rate limit as a send.
"""
        return self._once("PATCH", f"/v1/endpoints/{segment(endpoint_id)}", body=body, is_repeatable=True)

    def delete_endpoint(
        self,
        endpoint_id: str,
    ) -> None:
        """Delete an endpoint.

        Its callbacks go with it, for good. Counts for the rate limit as a send.
"""
        return self._once("DELETE", f"/v1/endpoints/{segment(endpoint_id)}", is_repeatable=True)

    def enable_endpoint(
        self,
        endpoint_id: str,
        body: "types.NoFields" = {},
    ) -> "types.ShownEndpoint":
        """Enable an endpoint.

        Call it again, with all callbacks that were kept meanwhile, at once and in order. Counts for the rate limit as a send.
"""
        return self._once("POST", f"/v1/endpoints/{segment(endpoint_id)}/enable", body=body, is_repeatable=True)

    def disable_endpoint(
        self,
        endpoint_id: str,
        body: "types.NoFields" = {},
    ) -> "types.ShownEndpoint":
        """Disable an endpoint.

        Calls stop. New and waiting callbacks are kept. Counts for the rate limit as a send.
"""
        return self._once("POST", f"/v1/endpoints/{segment(endpoint_id)}/disable", body=body, is_repeatable=True)

    def test_endpoint(
        self,
        endpoint_id: str,
        body: "types.NoFields" = {},
    ) -> "types.TestedCall":
        """Call an endpoint, and show its answer.

        It gets `endpoint.test`, whatever types it takes. The answer comes after the first call, which may take 15 s. Counts for the rate limit as a send.
"""
        return self._once("POST", f"/v1/endpoints/{segment(endpoint_id)}/test", body=body)

    def rotate_endpoint_secret(
        self,
        endpoint_id: str,
        body: "types.SecretRotation" = {},
    ) -> "types.RotatedSecret":
        """Replace the secret of an endpoint.

        The new secret is in this answer only. Until `bothSignUntil`, calls are signed with both secrets. Older secrets stop at once. Counts for the rate limit as a send.
"""
        return self._once("POST", f"/v1/endpoints/{segment(endpoint_id)}/rotate-secret", body=body)

    def resend_callbacks(
        self,
        endpoint_id: str,
        body: "types.CallbackResend",
    ) -> "types.ResentCallbacks":
        """Send callbacks of an endpoint again.

        Callbacks of changes since a time that were delivered or given up, in order, each with its `webhook-id`. The answer comes when all are marked. Counts for the rate limit as a send.
"""
        return self._once("POST", f"/v1/endpoints/{segment(endpoint_id)}/resend", body=body)

    def list_callbacks(
        self,
        endpoint_id: str,
        *,
        limit: Optional[int] = None,
        after: Optional[str] = None,
        state: Optional[Literal["waiting", "delivered", "given_up"]] = None,
    ) -> Iterator["types.OwnCallback"]:
        """List the callbacks of an endpoint, newest first.

        The callbacks of the endpoint, made and waiting, with its answers. A page looks at no more than 30,000 callbacks, so with `state` it may be short: go on until `next` is null. Counts for the rate limit as a send.

        limit: How many callbacks a page has at most.
        after: The `next` of the page before.
        state: Only callbacks in this state.
"""
        return self._items("callbacks", f"/v1/endpoints/{segment(endpoint_id)}/callbacks", {"limit": limit, "after": after, "state": state})

    def list_suppressions(
        self,
        *,
        limit: Optional[int] = None,
        after: Optional[str] = None,
        contact: Optional[str] = None,
    ) -> Iterator["types.Suppression"]:
        """List the suppressed contacts, oldest first.

        Suppressions that you or an operator added, or that were added after a bounce, a complaint or an opt-out. Counts for the rate limit as a send.

        limit: How many suppressions a page has at most.
        after: The `next` of the page before.
        contact: Only entries of this contact. A `+` need not be written as `%2B`.
"""
        return self._items("suppressions", "/v1/suppressions", {"limit": limit, "after": after, "contact": contact})

    def add_suppression(
        self,
        body: "types.NewSuppression",
    ) -> "types.AddedSuppression":
        """Send nothing to a contact any more.

        Sends to the contact are accepted, and fail without a call of the provider; those that wait fail within seconds. A call that has begun isn't stopped. Repeating the request returns the existing entry. Counts for the rate limit as a send.
"""
        return self._once("POST", "/v1/suppressions", body=body, is_repeatable=True)

    def remove_suppression(
        self,
        suppression_id: str,
    ) -> None:
        """Send to a contact again.

        Sends that failed meanwhile stay failed. Counts for the rate limit as a send.
"""
        return self._once("DELETE", f"/v1/suppressions/{segment(suppression_id)}", is_repeatable=True)

    def get_key(
        self,
    ) -> "types.Key":
        """Read the API key of the request, and its account.

        For a check of the configuration: whose key it is, what it may do, and until when. Any permission is enough. Reading doesn't count for the account's rate limit, but for the limit of the key.
"""
        return self._once("GET", "/v1/key", is_repeatable=True)

    def get_usage(
        self,
        *,
        from_: str,
        to: str,
        group_by: Optional[str] = None,
    ) -> "types.UsageList":
        """Read how many messages the account sent, by day, month and channel.

        For an invoice. A send counts on the day of its accept, in UTC, as what it is now. The sum of days is that of the month, the sum of channels that of the account. Reading doesn't count for the account's rate limit, but for the limit of the key.

        from_: The first day, in UTC.
        to: The day after the last one, in UTC. By day, at most 366 days after `from`.
        group_by: By what the sums are divided: channel, day, month, priority, several with commas. Default: one sum.
"""
        return self._once("GET", "/v1/usage", query={"from": from_, "to": to, "groupBy": group_by}, is_repeatable=True)


class AsyncRoutes:
    """The methods of `AsyncClient`."""

    async def _once(self, method: str, path: str, **call: Any) -> Any:
        raise NotImplementedError

    def _items(self, field: str, path: str, query: Dict[str, Any]) -> AsyncIterator[Any]:
        raise NotImplementedError

    async def send_message(
        self,
        body: "types.SendRequest",
        *,
        idempotency_key: Optional[str] = None,
    ) -> "types.Accepted":
        """Send a message; the channel is in the body.

        Checks the key, the permission, the body, the channel, the channel's own limits, the Idempotency-Key and the rate limit, in this order, and answers with the first error. With `dryRun=true` it checks the same, and answers what would become of the message.

        idempotency_key: an id of your own for this request. Without one, each call makes a key, which its repeats share.
"""
        return await self._once("POST", "/v1/messages", body=body, is_keyed=True, idempotency_key=idempotency_key, is_repeatable=True)

    async def explain_message(
        self,
        body: "types.SendRequest",
    ) -> "types.DryRun":
        """Find what `sendMessage` would do, and send nothing.

        What would become of the message. Nothing is recorded, and nothing is sent.
"""
        return await self._once("POST", "/v1/messages", query={"dryRun": "true"}, body=body, is_repeatable=True)

    def list_messages(
        self,
        *,
        limit: Optional[int] = None,
        after: Optional[str] = None,
        status: Optional[Literal["queued", "sending", "sent", "failed", "uncertain", "canceled"]] = None,
        delivery: Optional[Literal["delivered", "read", "undelivered"]] = None,
        channel_id: Optional[str] = None,
        flow_id: Optional[str] = None,
        contact: Optional[str] = None,
        priority: Optional[Literal["urgent", "normal", "bulk"]] = None,
        reference: Optional[str] = None,
        provider_code: Optional[str] = None,
        accepted_from: Optional[str] = None,
        accepted_to: Optional[str] = None,
    ) -> AsyncIterator["types.SendSummary"]:
        """List the sends of the account, newest first.

        Ordered by acceptance time, including scheduled sends. A page may have fewer than `limit` sends, or none, since it looks at no more than 30,000 scheduled and 30,000 other sends: go on until `next` is null. Each send that is there from the first page to the last is on exactly one. Reading doesn't count for the account's rate limit, but for the limit of the key.

        limit: How many sends a page has at most.
        after: The `next` of the page before.
        status: Only sends with this status.
        delivery: Only sends with this delivery state, as the provider reported it.
        channel_id: Only sends of this channel.
        flow_id: Only sends of this flow.
        contact: Only sends to this contact. It is normalised as in a send. A `+` need not be written as `%2B`.
        priority: Only sends with this `priority`.
        reference: Only sends with this `reference`.
        provider_code: Only sends with this `providerCode`.
        accepted_from: Only sends accepted at this time or later.
        accepted_to: Only sends accepted before this time.
"""
        return self._items("messages", "/v1/messages", {"limit": limit, "after": after, "status": status, "delivery": delivery, "channelId": channel_id, "flowId": flow_id, "contact": contact, "priority": priority, "reference": reference, "providerCode": provider_code, "acceptedFrom": accepted_from, "acceptedTo": accepted_to})

    async def send_message_on_channel(
        self,
        channel_id: str,
        body: "types.ChannelSendRequest",
        *,
        idempotency_key: Optional[str] = None,
    ) -> "types.Accepted":
        """Send a message; the channel is in the path.

        Checks the key, the permission, the body, the channel, the channel's own limits, the Idempotency-Key and the rate limit, in this order, and answers with the first error. With `dryRun=true` it checks the same, and answers what would become of the message.

        idempotency_key: an id of your own for this request. Without one, each call makes a key, which its repeats share.
"""
        return await self._once("POST", f"/v1/channels/{segment(channel_id)}/messages", body=body, is_keyed=True, idempotency_key=idempotency_key, is_repeatable=True)

    async def explain_message_on_channel(
        self,
        channel_id: str,
        body: "types.ChannelSendRequest",
    ) -> "types.DryRun":
        """Find what `sendMessageOnChannel` would do, and send nothing.

        What would become of the message. Nothing is recorded, and nothing is sent.
"""
        return await self._once("POST", f"/v1/channels/{segment(channel_id)}/messages", query={"dryRun": "true"}, body=body, is_repeatable=True)

    async def send_batch(
        self,
        body: "types.BatchRequest",
        *,
        idempotency_key: Optional[str] = None,
    ) -> "types.AcceptedBatch":
        """Send up to 100 messages, all or none.

        Each message is a body of `POST /v1/messages`, and is checked like one. All are recorded in one transaction, or none: a 400 names the faulty ones. The batch counts as its number of messages for the rate limit. An Idempotency-Key is for the whole batch. With `dryRun=true` nothing is recorded.

        idempotency_key: an id of your own for this request. Without one, each call makes a key, which its repeats share.
"""
        return await self._once("POST", "/v1/messages/batch", body=body, is_keyed=True, idempotency_key=idempotency_key, is_repeatable=True)

    async def explain_batch(
        self,
        body: "types.BatchRequest",
    ) -> "types.DryRunBatch":
        """Find what `sendBatch` would do, and send nothing.

        What would become of the messages, in their order. Nothing is recorded, and nothing is sent.
"""
        return await self._once("POST", "/v1/messages/batch", query={"dryRun": "true"}, body=body, is_repeatable=True)

    async def cancel_messages(
        self,
        body: "types.CancelRequest",
    ) -> "types.CanceledSends":
        """Cancel all that waits with a reference, or in a flow.

        At most 10,000 sends, the oldest first: go on until `next` is null. Each is canceled as by a request of its own. After a 200, their providers are not called any more. A repeat finds nothing more to cancel.
"""
        return await self._once("POST", "/v1/messages/cancel", body=body, is_repeatable=True)

    async def get_message(
        self,
        request_id: str,
        *,
        include: Optional[Literal["message"]] = None,
    ) -> "types.Timeline":
        """Read a send's state and timeline.

        The send's state and its timeline. `sent` means accepted by the provider, not delivered to the contact. The permission `messages:read` reads it; with `include=message`, `messages:content` does. Reading doesn't count for the account's rate limit, but for the limit of the key.

        include: `message`: with what was sent. The key needs the permission `messages:content`.
"""
        return await self._once("GET", f"/v1/messages/{segment(request_id)}", query={"include": include}, is_repeatable=True)

    async def move_message(
        self,
        request_id: str,
        body: "types.MoveRequest",
    ) -> "types.SendSummary":
        """Move a scheduled send to another time or contact.

        Before its time has come. Its place in its contact's order and its expiry count from the new time. Another contact takes the place of the first one, on the same channel. The timeline has the event `scheduled` again.
"""
        return await self._once("PATCH", f"/v1/messages/{segment(request_id)}", body=body, is_repeatable=True)

    async def cancel_message(
        self,
        request_id: str,
    ) -> "types.CanceledSend":
        """Cancel a send that waits.

        A scheduled send, or one that is `queued`. After a 200, its provider is not called any more. A repeat gets the same answer, unless the send is `uncertain`.
"""
        return await self._once("POST", f"/v1/messages/{segment(request_id)}/cancel", is_repeatable=True)

    def list_channels(
        self,
        *,
        limit: Optional[int] = None,
        after: Optional[str] = None,
    ) -> AsyncIterator["types.Channel"]:
        """List the channels of the account, oldest first.

        Their ids, what they take, and whether they work. Without their configs. Counts for the rate limit as a send.

        limit: How many channels a page has at most.
        after: The `next` of the page before.
"""
        return self._items("channels", "/v1/channels", {"limit": limit, "after": after})

    async def get_channel(
        self,
        channel_id: str,
    ) -> "types.ShownChannel":
        """Read a channel.

        As the list has it. Counts for the rate limit as a send.
"""
        return await self._once("GET", f"/v1/channels/{segment(channel_id)}", is_repeatable=True)

    def list_templates(
        self,
        channel_id: str,
        *,
        limit: Optional[int] = None,
        after: Optional[str] = None,
    ) -> AsyncIterator["types.RegisteredTemplate"]:
        """List the templates of a channel, oldest first.

        Templates that are registered with it, and the variables that a send gives. A template that is changed becomes the newest. Counts for the rate limit as a send.

        limit: How many templates a page has at most.
        after: The `next` of the page before.
"""
        return self._items("templates", f"/v1/channels/{segment(channel_id)}/templates", {"limit": limit, "after": after})

    def list_flows(
        self,
        *,
        limit: Optional[int] = None,
        after: Optional[str] = None,
    ) -> AsyncIterator["types.Flow"]:
        """List the flows of the account, oldest first.

        A send may name one as `flowId`. Counts for the rate limit as a send.

        limit: How many flows a page has at most.
        after: The `next` of the page before.
"""
        return self._items("flows", "/v1/flows", {"limit": limit, "after": after})

    def list_endpoints(
        self,
        *,
        limit: Optional[int] = None,
        after: Optional[str] = None,
    ) -> AsyncIterator["types.Endpoint"]:
        """List the endpoints of the account, oldest first.

        Where the account gets callbacks about its sends, and how the calls go. Counts for the rate limit as a send.

        limit: How many endpoints a page has at most.
        after: The `next` of the page before.
"""
        return self._items("endpoints", "/v1/endpoints", {"limit": limit, "after": after})

    async def create_endpoint(
        self,
        body: "types.NewEndpoint",
        *,
        idempotency_key: Optional[str] = None,
    ) -> "types.CreatedEndpoint":
        """Create an endpoint.

        Its secret is in this answer only. An account has 10 endpoints at most. Counts for the rate limit as a send.

        idempotency_key: an id of your own for this request. Without one, each call makes a key, which its repeats share.
"""
        return await self._once("POST", "/v1/endpoints", body=body, is_keyed=True, idempotency_key=idempotency_key)

    async def get_endpoint(
        self,
        endpoint_id: str,
    ) -> "types.ShownEndpoint":
        """Read an endpoint.

        As the list has it. Counts for the rate limit as a send.
"""
        return await self._once("GET", f"/v1/endpoints/{segment(endpoint_id)}", is_repeatable=True)

    async def update_endpoint(
        self,
        endpoint_id: str,
        body: "types.EndpointChange",
    ) -> "types.ShownEndpoint":
        """Change an endpoint.

        A call that has begun, and those that a worker has read already, still go to the former URL. Counts for the rate limit as a send.
"""
        return await self._once("PATCH", f"/v1/endpoints/{segment(endpoint_id)}", body=body, is_repeatable=True)

    async def delete_endpoint(
        self,
        endpoint_id: str,
    ) -> None:
        """Delete an endpoint.

        Its callbacks go with it, for good. Counts for the rate limit as a send.
"""
        return await self._once("DELETE", f"/v1/endpoints/{segment(endpoint_id)}", is_repeatable=True)

    async def enable_endpoint(
        self,
        endpoint_id: str,
        body: "types.NoFields" = {},
    ) -> "types.ShownEndpoint":
        """Enable an endpoint.

        Call it again, with all callbacks that were kept meanwhile, at once and in order. Counts for the rate limit as a send.
"""
        return await self._once("POST", f"/v1/endpoints/{segment(endpoint_id)}/enable", body=body, is_repeatable=True)

    async def disable_endpoint(
        self,
        endpoint_id: str,
        body: "types.NoFields" = {},
    ) -> "types.ShownEndpoint":
        """Disable an endpoint.

        Calls stop. New and waiting callbacks are kept. Counts for the rate limit as a send.
"""
        return await self._once("POST", f"/v1/endpoints/{segment(endpoint_id)}/disable", body=body, is_repeatable=True)

    async def test_endpoint(
        self,
        endpoint_id: str,
        body: "types.NoFields" = {},
    ) -> "types.TestedCall":
        """Call an endpoint, and show its answer.

        It gets `endpoint.test`, whatever types it takes. The answer comes after the first call, which may take 15 s. Counts for the rate limit as a send.
"""
        return await self._once("POST", f"/v1/endpoints/{segment(endpoint_id)}/test", body=body)

    async def rotate_endpoint_secret(
        self,
        endpoint_id: str,
        body: "types.SecretRotation" = {},
    ) -> "types.RotatedSecret":
        """Replace the secret of an endpoint.

        The new secret is in this answer only. Until `bothSignUntil`, calls are signed with both secrets. Older secrets stop at once. Counts for the rate limit as a send.
"""
        return await self._once("POST", f"/v1/endpoints/{segment(endpoint_id)}/rotate-secret", body=body)

    async def resend_callbacks(
        self,
        endpoint_id: str,
        body: "types.CallbackResend",
    ) -> "types.ResentCallbacks":
        """Send callbacks of an endpoint again.

        Callbacks of changes since a time that were delivered or given up, in order, each with its `webhook-id`. The answer comes when all are marked. Counts for the rate limit as a send.
"""
        return await self._once("POST", f"/v1/endpoints/{segment(endpoint_id)}/resend", body=body)

    def list_callbacks(
        self,
        endpoint_id: str,
        *,
        limit: Optional[int] = None,
        after: Optional[str] = None,
        state: Optional[Literal["waiting", "delivered", "given_up"]] = None,
    ) -> AsyncIterator["types.OwnCallback"]:
        """List the callbacks of an endpoint, newest first.

        The callbacks of the endpoint, made and waiting, with its answers. A page looks at no more than 30,000 callbacks, so with `state` it may be short: go on until `next` is null. Counts for the rate limit as a send.

        limit: How many callbacks a page has at most.
        after: The `next` of the page before.
        state: Only callbacks in this state.
"""
        return self._items("callbacks", f"/v1/endpoints/{segment(endpoint_id)}/callbacks", {"limit": limit, "after": after, "state": state})

    def list_suppressions(
        self,
        *,
        limit: Optional[int] = None,
        after: Optional[str] = None,
        contact: Optional[str] = None,
    ) -> AsyncIterator["types.Suppression"]:
        """List the suppressed contacts, oldest first.

        Suppressions that you or an operator added, or that were added after a bounce, a complaint or an opt-out. Counts for the rate limit as a send.

        limit: How many suppressions a page has at most.
        after: The `next` of the page before.
        contact: Only entries of this contact. A `+` need not be written as `%2B`.
"""
        return self._items("suppressions", "/v1/suppressions", {"limit": limit, "after": after, "contact": contact})

    async def add_suppression(
        self,
        body: "types.NewSuppression",
    ) -> "types.AddedSuppression":
        """Send nothing to a contact any more.

        Sends to the contact are accepted, and fail without a call of the provider; those that wait fail within seconds. A call that has begun isn't stopped. Repeating the request returns the existing entry. Counts for the rate limit as a send.
"""
        return await self._once("POST", "/v1/suppressions", body=body, is_repeatable=True)

    async def remove_suppression(
        self,
        suppression_id: str,
    ) -> None:
        """Send to a contact again.

        Sends that failed meanwhile stay failed. Counts for the rate limit as a send.
"""
        return await self._once("DELETE", f"/v1/suppressions/{segment(suppression_id)}", is_repeatable=True)

    async def get_key(
        self,
    ) -> "types.Key":
        """Read the API key of the request, and its account.

        For a check of the configuration: whose key it is, what it may do, and until when. Any permission is enough. Reading doesn't count for the account's rate limit, but for the limit of the key.
"""
        return await self._once("GET", "/v1/key", is_repeatable=True)

    async def get_usage(
        self,
        *,
        from_: str,
        to: str,
        group_by: Optional[str] = None,
    ) -> "types.UsageList":
        """Read how many messages the account sent, by day, month and channel.

        For an invoice. A send counts on the day of its accept, in UTC, as what it is now. The sum of days is that of the month, the sum of channels that of the account. Reading doesn't count for the account's rate limit, but for the limit of the key.

        from_: The first day, in UTC.
        to: The day after the last one, in UTC. By day, at most 366 days after `from`.
        group_by: By what the sums are divided: channel, day, month, priority, several with commas. Default: one sum.
"""
        return await self._once("GET", "/v1/usage", query={"from": from_, "to": to, "groupBy": group_by}, is_repeatable=True)
