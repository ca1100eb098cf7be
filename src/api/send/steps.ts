import type { Runtime } from '../../runtime.ts'
import { repeatAnswerer } from './answer-repeat.ts'
import { templateApplier } from './apply-template.ts'
import { channelChecker } from './check-against-channel.ts'
import { sendAtChecker } from './check-send-at.ts'
import { enqueuer } from './enqueue.ts'
import { earlierSendFinder } from './find-earlier.ts'
import { ownChannelFinder } from './find-own-channel.ts'
import { rateLimiter } from './rate-limit.ts'
import { recorder } from './record.ts'
import { batchRecorder } from './record-batch.ts'

/** The steps that all sends take, single or in a batch. Made once, because some of them share statements and caches. */
export function sendSteps(runtime: Runtime) {
  const limiter = rateLimiter(runtime)
  const findEarlier = earlierSendFinder(runtime)
  return {
    limiter,
    findEarlier,
    findOwnChannel: ownChannelFinder(runtime),
    checkAgainstChannel: channelChecker(runtime),
    checkSendAt: sendAtChecker(runtime),
    applyTemplate: templateApplier(runtime),
    answerRepeat: repeatAnswerer(runtime, limiter),
    record: recorder(runtime, findEarlier),
    recordBatch: batchRecorder(runtime, findEarlier),
    enqueue: enqueuer(runtime),
  }
}

export type SendSteps = ReturnType<typeof sendSteps>
