import type { Context } from 'hono'
import { sentMessage } from '../../core/messages/sent-message.ts'
import { readDryRun } from '../../core/requests/dry-run-query.ts'
import { newId } from '../../core/requests/new-id.ts'
import type { SendRequest } from '../../core/sends/send-request.ts'
import { freeMemory } from '../../platform/memory/free-memory.ts'
import type { Needs } from '../../runtime.ts'
import { createDryRun, type DryRun } from '../../sends/dry-run.ts'
import type { FallbackSettings } from '../../sends/fall-back.ts'
import { connectionShare } from '../account/connection-share.ts'
import { answerJson } from '../answer.ts'
import { type ApiEnv, type RequestState, stateOf } from '../context.ts'
import { ApiError, unavailable } from '../errors.ts'
import { type EarlierSend, keyUsedBefore } from './find-earlier.ts'
import type { RateLimiter } from './rate-limit.ts'
import { type CheckedSend, inDatabaseTime, rowOf } from './record.ts'

/** @throws ApiError 400 if the parameter is written otherwise: such a request would send. */
export function isDryRun(c: Context<ApiEnv>): boolean {
  const read = readDryRun(c.env.incoming.url ?? '')
  if ('issue' in read) throw wrongDryRun(read.issue)
  return read.isDryRun
}

export const wrongDryRun = (issue: string) => new ApiError('invalid_query', issue)

/** What a dry run answers of one message. */
type Answered = DryRun & {
  requestId: string
  segments: number | null
  encoding: string | null
  email: object | null
}

export interface DryRunner {
  /** Finds what would become of the sends, and records nothing. */
  dryRun(
    state: Pick<RequestState, 'requestId' | 'caller' | 'deadline'>,
    sends: readonly CheckedSend[],
  ): Promise<Answered[]>
  /** A request whose Idempotency-Key was used before would send nothing; one that it doesn't fit would be refused. */
  dryRepeat(
    c: Context<ApiEnv>,
    earlier: EarlierSend,
    requests: readonly SendRequest[],
    channelIds: readonly string[],
  ): Promise<Answered[]>
}

export function createDryRunner(
  runtime: Needs<
    'db' | 'log' | 'clock',
    FallbackSettings | 'PROVIDER_TIMEOUT_SECONDS' | 'DATABASE_POOL_SIZE'
  >,
  { showRateLimit }: Pick<RateLimiter, 'showRateLimit'>,
): DryRunner {
  const { clock } = runtime
  const dryRun = createDryRun(runtime)
  const withConnection = connectionShare(runtime)
  return {
    async dryRun(state, sends) {
      const rows = sends.map((send) => rowOf({ ...state, requestId: newId() }, send, undefined))
      for (const { request } of sends) if (request.mediaContent) freeMemory(request.mediaContent)
      const aheadMs = await state.deadline.spend(clock.aheadMs())
      const found = await withConnection(state, () => dryRun(rows.map((row) => inDatabaseTime(row, aheadMs))))
      if (!found) throw unavailable()
      return found.map((one, index) => answered(one, sends[index] as CheckedSend))
    },

    async dryRepeat(c, { requestId, isSameRequest }, requests, channelIds) {
      await showRateLimit(stateOf(c))
      if (!isSameRequest) throw keyUsedBefore(requestId)
      const repeat = {
        ...{ wouldSend: false, reason: `it repeats ${requestId}, by its Idempotency-Key`, dueAt: null },
        ...{ waitsFor: [], fallbacks: [], suppressed: false },
      }
      return requests.map((request, index) =>
        answered({ ...repeat, channelId: channelIds[index] ?? '' }, { request, sms: undefined }),
      )
    },
  }
}

const answered = (found: DryRun, { request, sms }: Pick<CheckedSend, 'request' | 'sms'>): Answered => ({
  requestId: newId(),
  ...found,
  segments: sms?.segments ?? null,
  encoding: sms?.encoding ?? null,
  email: sentMessage(request.message).email,
})

/** The answer about one message. */
export const answerDryRun = (c: Context<ApiEnv>, [only]: readonly Answered[]): Response =>
  answerJson(c, { ...only, requestId: c.get('requestId') })
