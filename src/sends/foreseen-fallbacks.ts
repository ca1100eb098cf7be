import type { NewSend } from '../../db/admission/new-send.ts'
import type { Transaction } from '../../db/connection/client.ts'
import { type ChainedFallback, type ForeseenRow, findChains } from '../../db/delivery/foresee.ts'
import type { Message } from '../core/messages/message.ts'
import { carry, type FallbackCause, maxChannelsOfChain, shownFallback } from '../core/sends/fallback.ts'
import type { Needs } from '../runtime.ts'
import { channelRules } from './channel-rules.ts'
import type { FallbackSettings } from './fall-back.ts'

/** A channel by which a send would go on if it isn't delivered. */
export interface ForeseenFallback {
  channelId: string
  on: readonly FallbackCause[]
  withinSeconds: number
  /** Why that channel couldn't send it; null if it could. */
  issue: string | null
}

/** Creates the function that finds the channels after those that have the sends; none for one that has failed. */
export function createForeseeFallbacks(runtime: Needs<'log', FallbackSettings>) {
  const rulesOf = channelRules(runtime)
  const hasPublicUrl = runtime.settings.PUBLIC_BASE_URL !== undefined

  /** Up to the first that couldn't send it, where it would end. */
  const along = (
    chain: readonly ChainedFallback[],
    { contact, message: first }: Pick<NewSend, 'contact' | 'message'>,
  ): ForeseenFallback[] => {
    let message: Message | undefined = first
    return chain.flatMap((target) => {
      if (!message) return []
      const { fallback } = shownFallback({ ...target, fallbackChannelId: target.channelId })
      const carried = target.isDeleted
        ? { issue: 'that channel was deleted' }
        : carry({ contact, message, hasPublicUrl }, { ...target, rules: rulesOf(target) })
      message = 'message' in carried ? carried.message : undefined
      return fallback ? [{ ...fallback, issue: 'issue' in carried ? carried.issue : null }] : []
    })
  }

  return async (
    transaction: Transaction,
    sends: readonly { send: NewSend; row: ForeseenRow }[],
  ): Promise<ForeseenFallback[][]> => {
    const asked = sends.map(({ send, row: { channelId, failure, fallsBackFrom } }) =>
      fallsBackFrom !== null && failure === null
        ? { channelId, templateName: templateNameOf(send.message) }
        : undefined,
    )
    const known = unique(asked.flatMap((one) => one ?? []))
    const chains = known.length > 0 ? await findChains(transaction, known) : []
    return sends.map(({ send, row }, index) => {
      const one = asked[index]
      const chain = chains.filter(
        ({ from, templateName }) => from === one?.channelId && templateName === one.templateName,
      )
      return along(chain.slice(0, maxChannelsOfChain - 1 - row.formerChannels), send)
    })
  }
}

const templateNameOf = (message: Message) => (message.type === 'template' ? message.template.name : null)

const unique = <Item>(items: readonly Item[]): Item[] => [
  ...new Map(items.map((item) => [JSON.stringify(item), item])).values(),
]
