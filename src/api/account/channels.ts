import type { Context } from 'hono'
import {
  findOwnChannel,
  type OwnChannel,
  pageOfChannels,
  pageOfFlows,
  pageOfTemplates,
} from '../../../db/accounts/own-channels.ts'
import { accountLists } from '../../core/accounts/account-lists.ts'
import { channelStatus } from '../../core/channels/channel-status.ts'
import { providerRules } from '../../core/providers/index.ts'
import { canBeRecordId } from '../../core/requests/record-id.ts'
import { shownFallback } from '../../core/sends/fallback.ts'
import type { Needs } from '../../runtime.ts'
import { channelRules } from '../../sends/channel-rules.ts'
import { answerJson } from '../answer.ts'
import { type ApiEnv, factory } from '../context.ts'
import { authorize } from '../keys/authenticate.ts'
import { channelNotFound } from '../send/find-own-channel.ts'
import { type AccountSteps, queryOf } from './steps.ts'

type ChannelNeeds = Needs<'db' | 'log', 'CREDENTIALS_KEY' | 'CREDENTIALS_KEY_PREVIOUS'>

/** What an account can send by: its channels with their templates, and its flows (docs/reference/api.md#channels). */
export function channelRoutes(runtime: ChannelNeeds, steps: AccountSteps) {
  const { db } = runtime
  const { withConnection, limiter } = steps
  const shown = createShowChannel(runtime)
  const authorized = [steps.authenticate, authorize('messages:send', 'messages:read')] as const

  const find = async (c: Context<ApiEnv>) => {
    const { accountId } = c.var.caller
    const channelId = c.req.param('channelId') ?? ''
    const channel = canBeRecordId(channelId)
      ? await withConnection(c.var, () => findOwnChannel(db, { channelId, accountId }))
      : undefined
    if (!channel) throw channelNotFound()
    return channel
  }

  const list = factory.createHandlers(...authorized, async (c) => {
    const query = queryOf(c, accountLists.channels.readQuery)
    const { requestId, caller } = c.var
    await limiter.rateLimit(c.var)
    const { items, next } = await withConnection(c.var, () => pageOfChannels(db, caller.accountId, query))
    const channels = items.map(shown)
    return answerJson(c, { requestId, channels, next: accountLists.channels.writeNext(next) })
  })

  const get = factory.createHandlers(...authorized, async (c) => {
    const channel = await find(c)
    await limiter.rateLimit(c.var)
    return answerJson(c, { requestId: c.var.requestId, ...shown(channel) })
  })

  const templates = factory.createHandlers(...authorized, async (c) => {
    const query = queryOf(c, accountLists.templates.readQuery)
    const { channelId, provider } = await find(c)
    await limiter.rateLimit(c.var)
    const { items, next } = await withConnection(c.var, () => pageOfTemplates(db, channelId, query))
    const { template } = providerRules[provider]
    return answerJson(c, {
      requestId: c.var.requestId,
      templates: items.map(({ name, definition, setAt }) => ({
        name,
        variables: template.variablesOf(definition).map((key) => ({ key, required: true })),
        setAt,
      })),
      next: accountLists.templates.writeNext(next),
    })
  })

  const flows = factory.createHandlers(...authorized, async (c) => {
    const query = queryOf(c, accountLists.flows.readQuery)
    const { requestId, caller } = c.var
    await limiter.rateLimit(c.var)
    const { items, next } = await withConnection(c.var, () => pageOfFlows(db, caller.accountId, query))
    return answerJson(c, { requestId, flows: items, next: accountLists.flows.writeNext(next) })
  })

  return { list, get, templates, flows }
}

/** Creates the function that makes the answer's form of a channel: what it takes now, and whether it works. */
function createShowChannel(runtime: ChannelNeeds) {
  const rulesOf = channelRules(runtime)
  return (channel: OwnChannel) => {
    const { channelId, name, provider } = channel
    const { contactTypes, messageTypes } = rulesOf(channel)
    const state = { ...channelStatus(channel), ...shownFallback(channel) }
    return { channelId, name, provider, contactTypes, messageTypes, ...state }
  }
}
