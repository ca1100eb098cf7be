// Written by `npm run clients` from the OpenAPI document, not by hand.
import type { CallOptions, Caller, KeyedOptions } from '../call.ts'
import type { Pages } from '../pages.ts'
import type { Answer, Body, DryRunOf, Query } from '../operation-types.ts'

/** Every route of the API that is for clients, as a method. */
export abstract class Routes {
  protected abstract readonly call: Caller

  /**
   * Send a message; the channel is in the body.
   *
   * Checks the key, the permission, the body, the channel, the channel's own limits, the Idempotency-Key and the rate limit, in this order, and answers with the first error. With `dryRun=true` it checks the same, and answers what would become of the message.
   *
   * @param body the JSON of the request.
   * @param options an `idempotencyKey` of your own, and a `signal`.
   */
  sendMessage(body: Body<'sendMessage'>, options: KeyedOptions = {}): Promise<Answer<'sendMessage'>> {
    return this.call.once({ method: 'POST', path: '/v1/messages', body, isKeyed: true, isRepeatable: true, options })
  }

  /**
   * Find what `sendMessage` would do, and send nothing.
   *
   * What would become of the message. Nothing is recorded, and nothing is sent.
   *
   * @param body the JSON of the request.
   * @param options a `signal` that ends the call.
   */
  explainMessage(body: Body<'sendMessage'>, options: CallOptions = {}): Promise<DryRunOf<'sendMessage'>> {
    return this.call.once({ method: 'POST', path: '/v1/messages', query: { dryRun: 'true' }, body, isRepeatable: true, options })
  }

  /**
   * List the sends of the account, newest first.
   *
   * Ordered by acceptance time, including scheduled sends. A page may have fewer than `limit` sends, or none, since it looks at no more than 30,000 scheduled and 30,000 other sends: go on until `next` is null. Each send that is there from the first page to the last is on exactly one. Reading doesn't count for the account's rate limit, but for the limit of the key.
   *
   * @param query what is asked for; all is optional.
   * @param options a `signal` that ends the call.
   */
  listMessages(query: Query<'listMessages'> = {}, options: CallOptions = {}): Pages<Answer<'listMessages'>, 'messages'> {
    return this.call.pages('messages', { method: 'GET', path: '/v1/messages', query, isRepeatable: true, options })
  }

  /**
   * Send a message; the channel is in the path.
   *
   * Checks the key, the permission, the body, the channel, the channel's own limits, the Idempotency-Key and the rate limit, in this order, and answers with the first error. With `dryRun=true` it checks the same, and answers what would become of the message.
   *
   * @param channelId as an answer of the API has it.
   * @param body the JSON of the request.
   * @param options an `idempotencyKey` of your own, and a `signal`.
   */
  sendMessageOnChannel(channelId: string, body: Body<'sendMessageOnChannel'>, options: KeyedOptions = {}): Promise<Answer<'sendMessageOnChannel'>> {
    return this.call.once({ method: 'POST', path: `/v1/channels/${this.call.segment(channelId)}/messages`, body, isKeyed: true, isRepeatable: true, options })
  }

  /**
   * Find what `sendMessageOnChannel` would do, and send nothing.
   *
   * What would become of the message. Nothing is recorded, and nothing is sent.
   *
   * @param channelId as an answer of the API has it.
   * @param body the JSON of the request.
   * @param options a `signal` that ends the call.
   */
  explainMessageOnChannel(channelId: string, body: Body<'sendMessageOnChannel'>, options: CallOptions = {}): Promise<DryRunOf<'sendMessageOnChannel'>> {
    return this.call.once({ method: 'POST', path: `/v1/channels/${this.call.segment(channelId)}/messages`, query: { dryRun: 'true' }, body, isRepeatable: true, options })
  }

  /**
   * Send up to 100 messages, all or none.
   *
   * Each message is a body of `POST /v1/messages`, and is checked like one. All are recorded in one transaction, or none: a 400 names the faulty ones. The batch counts as its number of messages for the rate limit. An Idempotency-Key is for the whole batch. With `dryRun=true` nothing is recorded.
   *
   * @param body the JSON of the request.
   * @param options an `idempotencyKey` of your own, and a `signal`.
   */
  sendBatch(body: Body<'sendBatch'>, options: KeyedOptions = {}): Promise<Answer<'sendBatch'>> {
    return this.call.once({ method: 'POST', path: '/v1/messages/batch', body, isKeyed: true, isRepeatable: true, options })
  }

  /**
   * Find what `sendBatch` would do, and send nothing.
   *
   * What would become of the messages, in their order. Nothing is recorded, and nothing is sent.
   *
   * @param body the JSON of the request.
   * @param options a `signal` that ends the call.
   */
  explainBatch(body: Body<'sendBatch'>, options: CallOptions = {}): Promise<DryRunOf<'sendBatch'>> {
    return this.call.once({ method: 'POST', path: '/v1/messages/batch', query: { dryRun: 'true' }, body, isRepeatable: true, options })
  }

  /**
   * Cancel all that waits with a reference, or in a flow.
   *
   * At most 10,000 sends, the oldest first: go on until `next` is null. Each is canceled as by a request of its own. After a 200, their providers are not called any more. A repeat finds nothing more to cancel.
   *
   * @param body the JSON of the request.
   * @param options a `signal` that ends the call.
   */
  cancelMessages(body: Body<'cancelMessages'>, options: CallOptions = {}): Promise<Answer<'cancelMessages'>> {
    return this.call.once({ method: 'POST', path: '/v1/messages/cancel', body, isRepeatable: true, options })
  }

  /**
   * Read a send's state and timeline.
   *
   * The send's state and its timeline. `sent` means accepted by the provider, not delivered to the contact. The permission `messages:read` reads it; with `include=message`, `messages:content` does. Reading doesn't count for the account's rate limit, but for the limit of the key.
   *
   * @param requestId as an answer of the API has it.
   * @param query what is asked for; all is optional.
   * @param options a `signal` that ends the call.
   */
  getMessage(requestId: string, query: Query<'getMessage'> = {}, options: CallOptions = {}): Promise<Answer<'getMessage'>> {
    return this.call.once({ method: 'GET', path: `/v1/messages/${this.call.segment(requestId)}`, query, isRepeatable: true, options })
  }

  /**
   * Move a scheduled send to another time or contact.
   *
   * Before its time has come. Its place in its contact's order and its expiry count from the new time. Another contact takes the place of the first one, on the same channel. The timeline has the event `scheduled` again.
   *
   * @param requestId as an answer of the API has it.
   * @param body the JSON of the request.
   * @param options a `signal` that ends the call.
   */
  moveMessage(requestId: string, body: Body<'moveMessage'>, options: CallOptions = {}): Promise<Answer<'moveMessage'>> {
    return this.call.once({ method: 'PATCH', path: `/v1/messages/${this.call.segment(requestId)}`, body, isRepeatable: true, options })
  }

  /**
   * Cancel a send that waits.
   *
   * A scheduled send, or one that is `queued`. After a 200, its provider is not called any more. A repeat gets the same answer, unless the send is `uncertain`.
   *
   * @param requestId as an answer of the API has it.
   * @param options a `signal` that ends the call.
   */
  cancelMessage(requestId: string, options: CallOptions = {}): Promise<Answer<'cancelMessage'>> {
    return this.call.once({ method: 'POST', path: `/v1/messages/${this.call.segment(requestId)}/cancel`, isRepeatable: true, options })
  }

  /**
   * List the channels of the account, oldest first.
   *
   * Their ids, what they take, and whether they work. Without their configs. Counts for the rate limit as a send.
   *
   * @param query what is asked for; all is optional.
   * @param options a `signal` that ends the call.
   */
  listChannels(query: Query<'listChannels'> = {}, options: CallOptions = {}): Pages<Answer<'listChannels'>, 'channels'> {
    return this.call.pages('channels', { method: 'GET', path: '/v1/channels', query, isRepeatable: true, options })
  }

  /**
   * Read a channel.
   *
   * As the list has it. Counts for the rate limit as a send.
   *
   * @param channelId as an answer of the API has it.
   * @param options a `signal` that ends the call.
   */
  getChannel(channelId: string, options: CallOptions = {}): Promise<Answer<'getChannel'>> {
    return this.call.once({ method: 'GET', path: `/v1/channels/${this.call.segment(channelId)}`, isRepeatable: true, options })
  }

  /**
   * List the templates of a channel, oldest first.
   *
   * Templates that are registered with it, and the variables that a send gives. A template that is changed becomes the newest. Counts for the rate limit as a send.
   *
   * @param channelId as an answer of the API has it.
   * @param query what is asked for; all is optional.
   * @param options a `signal` that ends the call.
   */
  listTemplates(channelId: string, query: Query<'listTemplates'> = {}, options: CallOptions = {}): Pages<Answer<'listTemplates'>, 'templates'> {
    return this.call.pages('templates', { method: 'GET', path: `/v1/channels/${this.call.segment(channelId)}/templates`, query, isRepeatable: true, options })
  }

  /**
   * List the flows of the account, oldest first.
   *
   * A send may name one as `flowId`. Counts for the rate limit as a send.
   *
   * @param query what is asked for; all is optional.
   * @param options a `signal` that ends the call.
   */
  listFlows(query: Query<'listFlows'> = {}, options: CallOptions = {}): Pages<Answer<'listFlows'>, 'flows'> {
    return this.call.pages('flows', { method: 'GET', path: '/v1/flows', query, isRepeatable: true, options })
  }

  /**
   * List the endpoints of the account, oldest first.
   *
   * Where the account gets callbacks about its sends, and how the calls go. Counts for the rate limit as a send.
   *
   * @param query what is asked for; all is optional.
   * @param options a `signal` that ends the call.
   */
  listEndpoints(query: Query<'listEndpoints'> = {}, options: CallOptions = {}): Pages<Answer<'listEndpoints'>, 'endpoints'> {
    return this.call.pages('endpoints', { method: 'GET', path: '/v1/endpoints', query, isRepeatable: true, options })
  }

  /**
   * Create an endpoint.
   *
   * Its secret is in this answer only. An account has 10 endpoints at most. Counts for the rate limit as a send.
   *
   * @param body the JSON of the request.
   * @param options an `idempotencyKey` of your own, and a `signal`.
   */
  createEndpoint(body: Body<'createEndpoint'>, options: KeyedOptions = {}): Promise<Answer<'createEndpoint'>> {
    return this.call.once({ method: 'POST', path: '/v1/endpoints', body, isKeyed: true, options })
  }

  /**
   * Read an endpoint.
   *
   * As the list has it. Counts for the rate limit as a send.
   *
   * @param endpointId as an answer of the API has it.
   * @param options a `signal` that ends the call.
   */
  getEndpoint(endpointId: string, options: CallOptions = {}): Promise<Answer<'getEndpoint'>> {
    return this.call.once({ method: 'GET', path: `/v1/endpoints/${this.call.segment(endpointId)}`, isRepeatable: true, options })
  }

  /**
   * Change an endpoint.
   *
   * A call that has begun, and those that a worker has read already, still go to the former URL. Counts for the rate limit as a send.
   *
   * @param endpointId as an answer of the API has it.
   * @param body the JSON of the request.
   * @param options a `signal` that ends the call.
   */
  updateEndpoint(endpointId: string, body: Body<'updateEndpoint'>, options: CallOptions = {}): Promise<Answer<'updateEndpoint'>> {
    return this.call.once({ method: 'PATCH', path: `/v1/endpoints/${this.call.segment(endpointId)}`, body, isRepeatable: true, options })
  }

  /**
   * Delete an endpoint.
   *
   * Its callbacks go with it, for good. Counts for the rate limit as a send.
   *
   * @param endpointId as an answer of the API has it.
   * @param options a `signal` that ends the call.
   */
  deleteEndpoint(endpointId: string, options: CallOptions = {}): Promise<Answer<'deleteEndpoint'>> {
    return this.call.once({ method: 'DELETE', path: `/v1/endpoints/${this.call.segment(endpointId)}`, isRepeatable: true, options })
  }

  /**
   * Enable an endpoint.
   *
   * Call it again, with all callbacks that were kept meanwhile, at once and in order. Counts for the rate limit as a send.
   *
   * @param endpointId as an answer of the API has it.
   * @param body the JSON of the request.
   * @param options a `signal` that ends the call.
   */
  enableEndpoint(endpointId: string, body: Body<'enableEndpoint'> = {}, options: CallOptions = {}): Promise<Answer<'enableEndpoint'>> {
    return this.call.once({ method: 'POST', path: `/v1/endpoints/${this.call.segment(endpointId)}/enable`, body, isRepeatable: true, options })
  }

  /**
   * Disable an endpoint.
   *
   * Calls stop. New and waiting callbacks are kept. Counts for the rate limit as a send.
   *
   * @param endpointId as an answer of the API has it.
   * @param body the JSON of the request.
   * @param options a `signal` that ends the call.
   */
  disableEndpoint(endpointId: string, body: Body<'disableEndpoint'> = {}, options: CallOptions = {}): Promise<Answer<'disableEndpoint'>> {
    return this.call.once({ method: 'POST', path: `/v1/endpoints/${this.call.segment(endpointId)}/disable`, body, isRepeatable: true, options })
  }

  /**
   * Call an endpoint, and show its answer.
   *
   * It gets `endpoint.test`, whatever types it takes. The answer comes after the first call, which may take 15 s. Counts for the rate limit as a send.
   *
   * @param endpointId as an answer of the API has it.
   * @param body the JSON of the request.
   * @param options a `signal` that ends the call.
   */
  testEndpoint(endpointId: string, body: Body<'testEndpoint'> = {}, options: CallOptions = {}): Promise<Answer<'testEndpoint'>> {
    return this.call.once({ method: 'POST', path: `/v1/endpoints/${this.call.segment(endpointId)}/test`, body, options })
  }

  /**
   * Replace the secret of an endpoint.
   *
   * The new secret is in this answer only. Until `bothSignUntil`, calls are signed with both secrets. Older secrets stop at once. Counts for the rate limit as a send.
   *
   * @param endpointId as an answer of the API has it.
   * @param body the JSON of the request.
   * @param options a `signal` that ends the call.
   */
  rotateEndpointSecret(endpointId: string, body: Body<'rotateEndpointSecret'> = {}, options: CallOptions = {}): Promise<Answer<'rotateEndpointSecret'>> {
    return this.call.once({ method: 'POST', path: `/v1/endpoints/${this.call.segment(endpointId)}/rotate-secret`, body, options })
  }

  /**
   * Send callbacks of an endpoint again.
   *
   * Callbacks of changes since a time that were delivered or given up, in order, each with its `webhook-id`. The answer comes when all are marked. Counts for the rate limit as a send.
   *
   * @param endpointId as an answer of the API has it.
   * @param body the JSON of the request.
   * @param options a `signal` that ends the call.
   */
  resendCallbacks(endpointId: string, body: Body<'resendCallbacks'>, options: CallOptions = {}): Promise<Answer<'resendCallbacks'>> {
    return this.call.once({ method: 'POST', path: `/v1/endpoints/${this.call.segment(endpointId)}/resend`, body, options })
  }

  /**
   * List the callbacks of an endpoint, newest first.
   *
   * The callbacks of the endpoint, made and waiting, with its answers. A page looks at no more than 30,000 callbacks, so with `state` it may be short: go on until `next` is null. Counts for the rate limit as a send.
   *
   * @param endpointId as an answer of the API has it.
   * @param query what is asked for; all is optional.
   * @param options a `signal` that ends the call.
   */
  listCallbacks(endpointId: string, query: Query<'listCallbacks'> = {}, options: CallOptions = {}): Pages<Answer<'listCallbacks'>, 'callbacks'> {
    return this.call.pages('callbacks', { method: 'GET', path: `/v1/endpoints/${this.call.segment(endpointId)}/callbacks`, query, isRepeatable: true, options })
  }

  /**
   * List the suppressed contacts, oldest first.
   *
   * Suppressions that you or an operator added, or that were added after a bounce, a complaint or an opt-out. Counts for the rate limit as a send.
   *
   * @param query what is asked for; all is optional.
   * @param options a `signal` that ends the call.
   */
  listSuppressions(query: Query<'listSuppressions'> = {}, options: CallOptions = {}): Pages<Answer<'listSuppressions'>, 'suppressions'> {
    return this.call.pages('suppressions', { method: 'GET', path: '/v1/suppressions', query, isRepeatable: true, options })
  }

  /**
   * Send nothing to a contact any more.
   *
   * Sends to the contact are accepted, and fail without a call of the provider; those that wait fail within seconds. A call that has begun isn't stopped. Repeating the request returns the existing entry. Counts for the rate limit as a send.
   *
   * @param body the JSON of the request.
   * @param options a `signal` that ends the call.
   */
  addSuppression(body: Body<'addSuppression'>, options: CallOptions = {}): Promise<Answer<'addSuppression'>> {
    return this.call.once({ method: 'POST', path: '/v1/suppressions', body, isRepeatable: true, options })
  }

  /**
   * Send to a contact again.
   *
   * Sends that failed meanwhile stay failed. Counts for the rate limit as a send.
   *
   * @param suppressionId as an answer of the API has it.
   * @param options a `signal` that ends the call.
   */
  removeSuppression(suppressionId: string, options: CallOptions = {}): Promise<Answer<'removeSuppression'>> {
    return this.call.once({ method: 'DELETE', path: `/v1/suppressions/${this.call.segment(suppressionId)}`, isRepeatable: true, options })
  }

  /**
   * Read the API key of the request, and its account.
   *
   * For a check of the configuration: whose key it is, what it may do, and until when. Any permission is enough. Reading doesn't count for the account's rate limit, but for the limit of the key.
   *
   * @param options a `signal` that ends the call.
   */
  getKey(options: CallOptions = {}): Promise<Answer<'getKey'>> {
    return this.call.once({ method: 'GET', path: '/v1/key', isRepeatable: true, options })
  }

  /**
   * Read how many messages the account sent, by day, month and channel.
   *
   * For an invoice. A send counts on the day of its accept, in UTC, as what it is now. The sum of days is that of the month, the sum of channels that of the account. Reading doesn't count for the account's rate limit, but for the limit of the key.
   *
   * @param query what is asked for; it needs `from` and `to`.
   * @param options a `signal` that ends the call.
   */
  getUsage(query: Query<'getUsage'>, options: CallOptions = {}): Promise<Answer<'getUsage'>> {
    return this.call.once({ method: 'GET', path: '/v1/usage', query, isRepeatable: true, options })
  }
}
