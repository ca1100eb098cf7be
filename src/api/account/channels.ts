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
import { smsSizeOfTemplate } from '../../core/messages/segments.ts'
import { canBeRecordId } from '../../core/requests/record-id.ts'
import { shownFallback } from '../../core/sends/fallback.ts'
import type { Needs } from '../../runtime.ts'
import { channelRules } from '../../sends/channel-rules.ts'
import type { ApiEnv } from '../context.ts'
import { routes } from '../routes.ts'
import { channelNotFound } from '../send/find-own-channel.ts'
import type { AccountSteps } from './steps.ts'

const noSize = { segments: null, encoding: null }

type ChannelNeeds = Needs<'db' | 'log', 'CREDENTIALS_KEY' | 'CREDENTIALS_KEY_PREVIOUS'>

/** The means of an account to send: its channels with their templates, and its flows (docs/reference/api.md#channels). */
export function serveChannels(runtime: ChannelNeeds, { serve, withConnection, limiter }: AccountSteps) {
  const { db } = runtime
  const rulesOf = channelRules(runtime)
  const shown = showChannelBy(rulesOf)

  const find = async (c: Context<ApiEnv>) => {
    const { accountId } = c.var.caller
    const channelId = c.req.param('channelId') ?? ''
    const channel = canBeRecordId(channelId)
      ? await withConnection(c.var, () => findOwnChannel(db, { channelId, accountId }))
      : undefined
    if (!channel) throw channelNotFound()
    return channel
  }

  return {
    listChannels: serve(routes.listChannels, async (c, { query }) => {
      const { requestId, caller } = c.var
      await limiter.rateLimit(c.var)
      const { items, next } = await withConnection(c.var, () => pageOfChannels(db, caller.accountId, query))
      return { requestId, channels: items.map(shown), next: accountLists.channels.writeNext(next) }
    }),

    getChannel: serve(routes.getChannel, async (c) => {
      const channel = await find(c)
      await limiter.rateLimit(c.var)
      return { requestId: c.var.requestId, ...shown(channel) }
    }),

    listTemplates: serve(routes.listTemplates, async (c, { query }) => {
      const channel = await find(c)
      await limiter.rateLimit(c.var)
      const { items, next } = await withConnection(c.var, () => pageOfTemplates(db, channel.channelId, query))
      const rules = rulesOf(channel)
      return {
        requestId: c.var.requestId,
        templates: items.map(({ name, definition, setAt }) => ({
          name,
          variables: rules.template.variablesOf(definition).map((key) => ({ key, required: true })),
          ...(smsSizeOfTemplate(rules, definition) ?? noSize),
          setAt,
        })),
        next: accountLists.templates.writeNext(next),
      }
    }),

    listFlows: serve(routes.listFlows, async (c, { query }) => {
      const { requestId, caller } = c.var
      await limiter.rateLimit(c.var)
      const { items, next } = await withConnection(c.var, () => pageOfFlows(db, caller.accountId, query))
      return { requestId, flows: items, next: accountLists.flows.writeNext(next) }
    }),
  }
}

/** Creates the function that makes the answer's form of a channel: what it takes now, and whether it works. */
function showChannelBy(rulesOf: ReturnType<typeof channelRules>) {
  return (channel: OwnChannel) => {
    const { channelId, name, provider } = channel
    const { contactTypes, messageTypes } = rulesOf(channel)
    const state = { ...channelStatus(channel), ...shownFallback(channel) }
    return { channelId, name, provider, contactTypes, messageTypes, ...state }
  }
}
