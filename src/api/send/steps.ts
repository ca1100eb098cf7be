import type { Runtime } from '../../runtime.ts'
import { createAnswerRepeat } from './answer-repeat.ts'
import { createApplyTemplate } from './apply-template.ts'
import { createCheckAgainstChannel } from './check-against-channel.ts'
import { createCheckCeilings } from './check-ceilings.ts'
import { createCheckSendAt } from './check-send-at.ts'
import { createDryRunner } from './dry-run.ts'
import { createEnqueue } from './enqueue.ts'
import { createFindEarlier } from './find-earlier.ts'
import { createFindOwnChannel } from './find-own-channel.ts'
import { createRateLimit } from './rate-limit.ts'
import { createRecord } from './record.ts'
import { createRecordBatch } from './record-batch.ts'

/** The steps that all sends take, single or in a batch; each in the file of its name. */
export type SendSteps = ReturnType<typeof sendSteps>

/** Makes the steps once, because some of them share statements and caches. */
export function sendSteps(runtime: Runtime) {
  const limiter = createRateLimit(runtime)
  const findEarlier = createFindEarlier(runtime)
  return {
    findOwnChannel: createFindOwnChannel(runtime),
    checkAgainstChannel: createCheckAgainstChannel(runtime),
    checkSendAt: createCheckSendAt(runtime),
    checkCeilings: createCheckCeilings(runtime),
    applyTemplate: createApplyTemplate(runtime),
    findEarlier,
    answerRepeat: createAnswerRepeat(runtime, limiter),
    limiter,
    record: createRecord(runtime, findEarlier),
    recordBatch: createRecordBatch(runtime, findEarlier),
    enqueue: createEnqueue(runtime),
    ...createDryRunner(runtime, limiter),
  }
}
