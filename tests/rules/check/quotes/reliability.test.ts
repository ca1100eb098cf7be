import { idempotencyKeptHours } from '../../../../db/admission/idempotency-keys.ts'
import { readEveryMs } from '../../../../db/clock.ts'
import { replaysPerSecond } from '../../../../db/support/replays.ts'
import { answerWithinMs } from '../../../../src/api/app.ts'
import { maxLosses } from '../../../../src/core/outcome.ts'
import { stopWithinMs } from '../../../../src/platform/process.ts'
import { failuresToOpen, tryAgainAfterMs } from '../../../../src/platform/redis-breaker.ts'
import { silentForMs } from '../../../../src/platform/redis-watchdog.ts'
import { queryTimeoutMs } from '../../../../src/runtime.ts'
import { failuresToOpen as callsToOpen } from '../../../../workers/failure-streaks.ts'
import { tryAgainAfterMs as workerTriesAgainAfterMs } from '../../../../workers/steady-worker.ts'
import { workerTimes } from '../../../../workers/worker-times.ts'
import { quotes, seconds, word } from './quote.ts'

const { leaseMs, beatEveryMs, beatTimeoutMs, sweepEveryMs, jobLockMs, stalledCheckMs } = workerTimes
const givenUp = seconds(leaseMs + sweepEveryMs)
const handedOn = seconds(jobLockMs + stalledCheckMs)

quotes('explanation/reliability', [
  // Leases
  `renews a lease in PostgreSQL every ${seconds(beatEveryMs)}. The lease is valid for ${seconds(leaseMs)}`,
  `| at most ${seconds(leaseMs)} | its lease runs out |`,
  `| at most ${givenUp} | another worker gives its claims up`,
  `| at most ${handedOn} | the queue gives its wake-ups to others`,
  `a new one gives up claims after it has run for ${seconds(leaseMs)}`,
  `renew the lease (every ${seconds(beatEveryMs)}, valid for ${seconds(leaseMs)})`,
  `can't reach PostgreSQL for ${seconds(leaseMs)} begins no calls`,
  // Promises
  `make one send within ${idempotencyKeptHours} hours`,
  `once it has lost ${word(maxLosses)}`,
  `at most ${replaysPerSecond} a second of a set`,
  // Failure modes
  `its claims are given up within about ${givenUp}; unclaimed sends go to others within about ${handedOn}`,
  `waits ${seconds(silentForMs)} for the answer`,
  `workers try it every ${workerTriesAgainAfterMs} ms`,
  `after ${seconds(queryTimeoutMs.api)} in an API, ${seconds(queryTimeoutMs.worker)} in a worker, ${seconds(beatTimeoutMs)} for its heartbeat`,
  `after ${callsToOpen} failures in a row the channel's [breaker]`,
  `after ${word(maxLosses)} workers it is given up`,
  `A request waits at most ${seconds(answerWithinMs)} for both stores together`,
  `After ${failuresToOpen} failures in a row an API process doesn't ask Redis for ${seconds(tryAgainAfterMs)}`,
  // Limits
  `each process reads every ${seconds(readEveryMs)}`,
  `holds its outcomes for at most ${seconds(stopWithinMs.worker)}`,
])
