import type { Context, MiddlewareHandler } from 'hono'
import type { Channel } from '../../../db/accounts/channels.ts'
import { smsSizeOf } from '../../core/messages/segments.ts'
import { batchFingerprint, fingerprint, hashIdempotencyKey } from '../../core/requests/idempotency-key.ts'
import { joinIssues, withPaths } from '../../core/requests/issues.ts'
import type { SendRequest } from '../../core/sends/send-request.ts'
import { answerJson } from '../answer.ts'
import type { BodySteps } from '../body/body-steps.ts'
import { type ApiEnv, factory, type RequestState } from '../context.ts'
import type { ErrorCode } from '../errors/codes.ts'
import { ApiError } from '../errors.ts'
import { clientsTraceparent } from '../http/trace-request.ts'
import { authorize } from '../keys/authenticate.ts'
import { routes } from '../routes.ts'
import { acceptedAs } from '../send/answer-repeat.ts'
import { checkMediaContent } from '../send/check-media-content.ts'
import { atOnce, type Schedule } from '../send/check-send-at.ts'
import { isDryRun } from '../send/dry-run.ts'
import { type EarlierSend, hasIdempotencyKey, type Idempotency, keyOf } from '../send/find-earlier.ts'
import { channelNotFound } from '../send/find-own-channel.ts'
import type { CheckedSend } from '../send/record.ts'
import type { SendSteps } from '../send/steps.ts'

type BatchState = Pick<RequestState, 'requestId' | 'headers' | 'deadline' | 'caller'>

/**
 * Handles a batch, from its bytes to the 202, in the order of a single send (src/api/send-message.ts). Each step takes all messages,
 * and names the faulty ones. All are recorded in one transaction, or none.
 */
export function sendBatch(
  authenticate: MiddlewareHandler<ApiEnv>,
  { refuseDeclaredOversize, readBody, validate }: BodySteps,
  steps: SendSteps,
) {
  const { limiter, findEarlier, answerRepeat, recordBatch, enqueue, dryRun, dryRepeat } = steps
  const repeat = async (
    c: Context<ApiEnv>,
    earlier: EarlierSend,
    channels: readonly Channel[],
    isDry: boolean,
  ): Promise<Response> => {
    if (!isDry) return await answerRepeat(c, earlier, { isCounted: false })
    const ids = channels.map(({ channelId }) => channelId)
    const messages = await dryRepeat(c, earlier, c.var.requests, ids)
    return answerJson(c, { requestId: c.var.requestId, messages })
  }
  return factory.createHandlers(
    refuseDeclaredOversize,
    authenticate,
    authorize(...routes.sendBatch.permissions),
    readBody,
    validate('batch'),
    async (c) => {
      const { requestId, headers, deadline, caller, requests } = c.var
      const { incoming } = c.env
      const isDry = isDryRun(c)
      const state: BatchState = { requestId, headers, deadline, caller }
      const contents = await each(requests, checkMediaContent)
      const schedules = await each(contents, async ({ sendAt }) =>
        sendAt ? await steps.checkSendAt(state, sendAt) : atOnce,
      )
      if (!hasIdempotencyKey(incoming)) await refuseFaulty(schedules)
      const channels = await each(contents, ({ channelId }) => steps.findOwnChannel(state, channelId))
      const idempotency = idempotencyOf(keyOf(incoming), caller, requests, channels)
      // A repeat is answered although its channel was deleted, or its time has passed, meanwhile.
      const mayBeOutdated =
        channels.some(({ isDeleted }) => isDeleted) || schedules.some(({ issue }) => issue)
      if (mayBeOutdated) {
        const outdated = await findEarlier(state, idempotency)
        if (outdated) return await repeat(c, outdated, channels, isDry)
        await refuseFaulty(schedules)
        await refuseDeleted(channels)
      }
      const traceparent = clientsTraceparent(incoming)
      const sends = await each(contents, async (request, index): Promise<CheckedSend> => {
        const channel = channels[index] as Channel
        const rules = await steps.checkAgainstChannel({ caller, deadline }, request, channel)
        const message = await steps.applyTemplate(state, request.message, channel)
        return {
          request: { ...request, message },
          channel,
          when: schedules[index]?.when ?? 'now',
          sms: smsSizeOf(rules, request.contact, message),
          traceparent,
        }
      })
      const earlier = await findEarlier(state, idempotency)
      if (earlier) return await repeat(c, earlier, channels, isDry)
      await limiter.rateLimit(state, sends.length)
      await steps.checkCeilings(state, sends, { isCounted: !isDry })
      if (isDry) return answerJson(c, { requestId, messages: await dryRun(state, sends) })
      const recorded = await recordBatch(state, sends, idempotency)
      if ('earlier' in recorded)
        return await answerRepeat(c, recorded.earlier, { isCounted: true, messages: sends.length })
      await enqueue(state, recorded.wakeUps)
      return answerJson(c, acceptedAs(requestId, recorded.requestIds), 202)
    },
  )
}

const refuseFaulty = (schedules: readonly Schedule[]) =>
  each(schedules, async ({ issue }) => {
    if (issue) throw new ApiError('invalid_body', issue)
  })

const refuseDeleted = (channels: readonly Channel[]) =>
  each(channels, async ({ isDeleted }) => {
    if (isDeleted) throw channelNotFound()
  })

/** Does a step for each message. @throws ApiError 400 that names the faulty ones. */
async function each<Item, Result>(
  items: readonly Item[],
  step: (item: Item, index: number) => Promise<Result>,
): Promise<Result[]> {
  const results: Result[] = []
  const issues: string[] = []
  const reasons: string[] = []
  const codes = new Set<ErrorCode>()
  for (const [index, item] of items.entries()) {
    try {
      results.push(await step(item, index))
    } catch (error) {
      if (!(error instanceof ApiError) || error.statusCode >= 429) throw error
      issues.push(withPaths(error.message, index, error.statusCode === 404))
      reasons.push(withPaths(error.reason, index, error.statusCode === 404))
      codes.add(error.statusCode === 400 ? error.code : 'invalid_body')
    }
  }
  if (issues.length === 0) return results
  const [code = 'invalid_body', other] = codes
  throw new ApiError(other ? 'invalid_body' : code, joinIssues(issues), {}, joinIssues(reasons))
}

function idempotencyOf(
  key: string | undefined,
  { accountId }: RequestState['caller'],
  requests: readonly SendRequest[],
  channels: readonly Channel[],
): Idempotency | undefined {
  if (key === undefined) return undefined
  const prints = requests.map((request, index) => fingerprint(request, channels[index]?.channelId ?? ''))
  return { hash: hashIdempotencyKey(accountId, key), fingerprint: batchFingerprint(prints) }
}
