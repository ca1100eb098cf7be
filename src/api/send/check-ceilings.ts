import { LRUCache } from 'lru-cache'
import { type CeilingState, readCeilings } from '../../../db/ceilings/ceiling-states.ts'
import { type Ceiling, ceilingText, sizeBelow } from '../../core/accounts/ceiling.ts'
import type { Needs } from '../../runtime.ts'
import type { RequestState } from '../context.ts'
import { ApiError } from '../errors.ts'
import type { CheckedSend } from './record.ts'

/** For so long what is used is read once, and what this process accepts is added to it. */
const readEveryMs = 1000
const cachedOwners = 10_000

/**
 * Refuses sends that are to be sent now and would pass a ceiling of their channel or account, with what waits already. A claim enforces it
 * (db/ceilings/ceiling-rule.ts): what two processes accept at the same moment beyond it waits.
 */
export function createCheckCeilings({ db, metrics }: Needs<'db' | 'metrics'>) {
  const states = new LRUCache<string, CeilingState[]>({
    max: cachedOwners,
    ttl: readEveryMs,
    fetchMethod: async (ownerId) => await readCeilings(db, [ownerId]),
  })

  /**
   * @param isCounted false for a dry run, which uses nothing up.
   * @throws ApiError 429 that names the ceiling; then none of the sends counts.
   */
  return async (
    { caller, deadline }: Pick<RequestState, 'caller' | 'deadline'>,
    sends: readonly CheckedSend[],
    { isCounted }: { isCounted: boolean },
  ): Promise<void> => {
    const now = sends.filter(({ channel, when }) => when === 'now' && channel.hasCeiling)
    if (now.length === 0) return
    const { accountId } = caller
    const ownerIds = [...new Set([accountId, ...now.map(({ channel }) => channel.channelId)])]
    const read = await deadline.spend(Promise.all(ownerIds.map((ownerId) => states.fetch(ownerId))))
    const counted = read.flat().flatMap((state) => {
      if (!state) return []
      const own =
        state.ownerId === accountId ? now : now.filter((send) => send.channel.channelId === state.ownerId)
      return { state, size: own.reduce((sum, send) => sum + sizeOf(state, send), 0) }
    })
    const passed = counted
      .filter(({ state, size }) => size > 0 && state.used + size > state.amount)
      .sort((a, b) => b.state.until.getTime() - a.state.until.getTime())[0]
    if (passed) {
      metrics.rateLimited.inc({ limit: 'ceiling' })
      const { state } = passed
      throw ceilingReached(state, state.ownerId === accountId ? 'account' : 'channel', state.until)
    }
    if (isCounted) for (const { state, size } of counted) state.used += size
  }
}

const sizeOf = ({ unit }: CeilingState, { request, sms }: CheckedSend) =>
  sizeBelow(unit, request.contact.type, sms?.segments)

/** @param until the end of its period. */
export function ceilingReached(ceiling: Ceiling, owner: 'account' | 'channel', until: Date): ApiError {
  const ends = until.toISOString().slice(0, 16).replace('T', ' ')
  return new ApiError(
    'ceiling_reached',
    `The ceiling of ${ceilingText(ceiling)} of the ${owner} is reached until ${ends} UTC. Send again then.`,
    { 'Retry-After': String(Math.max(1, Math.ceil((until.getTime() - Date.now()) / 1000))) },
  )
}
