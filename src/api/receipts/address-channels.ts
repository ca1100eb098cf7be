import type { Context } from 'hono'
import { type ChannelOfSend, findChannelsOfSends } from '../../../db/receipts/receipts.ts'
import type { Receipt } from '../../core/receipts/receipt.ts'
import { canBeRecordId } from '../../core/requests/record-id.ts'
import { MicroBatch } from '../../platform/micro-batch.ts'
import type { Needs } from '../../runtime.ts'
import type { ApiEnv } from '../context.ts'
import type { ChannelOpener, OpenChannel } from './find-channel.ts'

const maxSendsPerLookup = 1000

export interface AddressedReceipt {
  receipt: Receipt
  /** The channel whose send it is about: the one in the path, or the send's own if both share receipts. */
  channelIds: readonly string[]
  /** Whether that channel has a fallback. */
  hasFallback: boolean
}

/**
 * Finds the sends and channels that receipts may be about: the account's others too, where the provider sends all to one address. It goes
 * by the channels of the sends, because an account may have thousands.
 */
export function createAddressChannels({ db }: Needs<'db'>, openChannel: ChannelOpener) {
  const lookups = new MicroBatch<string, ChannelOfSend | undefined>({
    maxItems: maxSendsPerLookup,
    mayOverlap: true,
    flush: async (ids) => {
      const found = new Map((await findChannelsOfSends(db, ids)).map((send) => [send.requestId, send]))
      return ids.map((id) => found.get(id))
    },
  })
  /** @returns for each receipt, the other channel of the account that has or had its send, and that it is about. */
  const siblingsOf = async (
    { accountId, channelId, provider, rules, config }: OpenChannel,
    receipts: readonly Receipt[],
  ): Promise<(OpenChannel | undefined)[]> => {
    const requestIds = receipts.map(({ requestId }) => requestId.toLowerCase())
    const sends = await Promise.all(requestIds.map((id) => (canBeRecordId(id) ? lookups.add(id) : undefined)))
    const idsOf = sends.map((send) =>
      send?.accountId === accountId ? send.channelIds.filter((id) => id !== channelId) : [],
    )
    const others = [...new Set(idsOf.flat())]
    const opened = new Map(await Promise.all(others.map(async (id) => [id, await openChannel(id)] as const)))
    return idsOf.map((ids, index) =>
      ids
        .map((id) => opened.get(id))
        .find(
          (one) =>
            one?.provider === provider &&
            rules.areShared?.(receipts[index]?.sender ?? '', config, one.config),
        ),
    )
  }

  /** The first id that a receipt may be about and that is a send's of the channel; else the first. */
  const ofChannel = async (channelId: string, receipt: Receipt): Promise<Receipt> => {
    const { otherRequestIds = [], ...rest } = receipt
    if (otherRequestIds.length === 0) return rest
    const ids = [receipt.requestId, ...otherRequestIds].filter(canBeRecordId)
    const sends = await Promise.all(ids.map((id) => lookups.add(id)))
    const own = sends.find((send) => send?.channelIds.includes(channelId))
    return own ? { ...rest, requestId: own.requestId } : rest
  }

  return async (
    c: Context<ApiEnv>,
    channel: OpenChannel,
    given: readonly Receipt[],
  ): Promise<AddressedReceipt[]> => {
    const { channelId, rules } = channel
    const isInDoubt = given.some(({ otherRequestIds }) => otherRequestIds !== undefined)
    const receipts = isInDoubt
      ? await c.get('deadline').spend(Promise.all(given.map((receipt) => ofChannel(channelId, receipt))))
      : given
    const siblings = rules.areShared ? await c.get('deadline').spend(siblingsOf(channel, receipts)) : []
    return receipts.map((receipt, index) => {
      const { channelId: sentBy, hasFallback } = siblings[index] ?? channel
      return { receipt, channelIds: [sentBy], hasFallback }
    })
  }
}
