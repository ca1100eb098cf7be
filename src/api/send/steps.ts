import type { Context } from 'hono'
import type { Channel } from '../../../db/accounts/channels.ts'
import type { Message } from '../../core/messages/message.ts'
import type { WakeUp } from '../../core/sends/send-job.ts'
import type { Runtime } from '../../runtime.ts'
import type { ApiEnv, RequestState } from '../context.ts'
import { createAnswerRepeat, type RepeatOptions } from './answer-repeat.ts'
import { createApplyTemplate } from './apply-template.ts'
import { type CheckedRequest, createCheckAgainstChannel } from './check-against-channel.ts'
import { createCheckSendAt, type Schedule } from './check-send-at.ts'
import { createEnqueue } from './enqueue.ts'
import {
  createFindEarlier,
  type EarlierSend,
  type EarlierSendFinder,
  type Idempotency,
} from './find-earlier.ts'
import { createFindOwnChannel } from './find-own-channel.ts'
import { createRateLimit, type RateLimiter } from './rate-limit.ts'
import { type CheckedSend, createRecord, type Recorded } from './record.ts'
import { createRecordBatch, type RecordedBatch } from './record-batch.ts'

type State<Part extends keyof RequestState> = Pick<RequestState, Part | 'deadline'>
type RecordingState = State<'requestId' | 'caller'>

/** The steps that all sends take, single or in a batch; each in the file of its name. */
export interface SendSteps {
  findOwnChannel(state: State<'caller'>, channelId: string | undefined): Promise<Channel>
  checkAgainstChannel(state: State<'caller'>, request: CheckedRequest, channel: Channel): Promise<void>
  checkSendAt(state: State<never>, sendAt: Date): Promise<Schedule>
  applyTemplate(state: State<never>, message: Message, channel: Channel): Promise<Message>
  findEarlier: EarlierSendFinder
  answerRepeat(c: Context<ApiEnv>, earlier: EarlierSend, options: RepeatOptions): Promise<Response>
  limiter: RateLimiter
  record(state: RecordingState, send: CheckedSend, idempotency: Idempotency | undefined): Promise<Recorded>
  recordBatch(
    state: RecordingState,
    sends: readonly CheckedSend[],
    idempotency: Idempotency | undefined,
  ): Promise<RecordedBatch>
  enqueue(state: State<never>, wakeUps: readonly WakeUp[]): Promise<void>
}

/** Makes the steps once, because some of them share statements and caches. */
export function sendSteps(runtime: Runtime): SendSteps {
  const limiter = createRateLimit(runtime)
  const findEarlier = createFindEarlier(runtime)
  return {
    findOwnChannel: createFindOwnChannel(runtime),
    checkAgainstChannel: createCheckAgainstChannel(runtime),
    checkSendAt: createCheckSendAt(runtime),
    applyTemplate: createApplyTemplate(runtime),
    findEarlier,
    answerRepeat: createAnswerRepeat(runtime, limiter),
    limiter,
    record: createRecord(runtime, findEarlier),
    recordBatch: createRecordBatch(runtime, findEarlier),
    enqueue: createEnqueue(runtime),
  }
}
