import { idempotencyKeptHours } from '../../../../db/admission/idempotency-keys.ts'
import { readEveryMs } from '../../../../db/connection/clock.ts'
import { replaysPerSecond } from '../../../../db/sends/replays.ts'
import { answerWithinMs } from '../../../../src/api/context.ts'
import { maxLosses } from '../../../../src/core/sends/outcome.ts'
import { stopWithinMs } from '../../../../src/platform/process/process.ts'
import { failuresToOpen, tryAgainAfterMs } from '../../../../src/platform/redis/breaker.ts'
import { unansweredForMs } from '../../../../src/platform/redis/watchdog.ts'
import { queryTimeoutMs } from '../../../../src/runtime.ts'
import { failuresToOpen as callsToOpen } from '../../../../workers/http/failure-streaks.ts'
import { tryAgainAfterMs as workerTriesAgainAfterMs } from '../../../../workers/queue/steady-worker.ts'
import { workerTimes } from '../../../../workers/worker-times.ts'
import { figures, seconds, word } from './quote.ts'

const { leaseMs, beatEveryMs, beatTimeoutMs, sweepEveryMs, jobLockMs, stalledCheckMs } = workerTimes
const givenUp = seconds(leaseMs + sweepEveryMs)
const handedOn = seconds(jobLockMs + stalledCheckMs)

figures('explanation/reliability', {
  Leases: [...[beatEveryMs, leaseMs].map(seconds), givenUp, handedOn],
  Promises: [`${idempotencyKeptHours} hours`, `${word(maxLosses)}`, `${replaysPerSecond}`],
  'Failure modes': [
    ...[givenUp, handedOn, `${workerTriesAgainAfterMs} ms`],
    ...[
      unansweredForMs,
      answerWithinMs,
      tryAgainAfterMs,
      queryTimeoutMs.api,
      queryTimeoutMs.worker,
      beatTimeoutMs,
    ].map(seconds),
    ...[`${callsToOpen} failures`, `${failuresToOpen} failures`, `${word(maxLosses)} workers`],
  ],
  Limits: [readEveryMs, stopWithinMs.worker].map(seconds),
})
