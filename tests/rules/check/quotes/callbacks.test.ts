import { answeringForMinutes } from '../../../../db/callbacks/endpoint-claims.ts'
import { disabledAfterDays } from '../../../../db/callbacks/endpoint-health.ts'
import { maxEndpointsOfAccount } from '../../../../src/core/callback.ts'
import { longestCallbackRetryAfterMs } from '../../../../src/core/callback-outcome.ts'
import { callsAtATime } from '../../../../workers/callbacks/calls-of-claim.ts'
import { workerTimes } from '../../../../workers/worker-times.ts'
import { callbackDelays, quotes, seconds, settings } from './quote.ts'

const { CALLBACK_CONCURRENCY, CALLBACK_TIMEOUT_SECONDS, CALLBACK_RETENTION_DAYS } = settings
const hours = (ms: number) => `${ms / 3_600_000} hours`

quotes('reference/callbacks', [
  `at most ${maxEndpointsOfAccount} for an account`,
  `\`CALLBACK_CONCURRENCY\` (${CALLBACK_CONCURRENCY}) calls at a time`,
  `less than ${answeringForMinutes} minutes ago | ${callsAtATime} | all but one |`,
  `without a call for ${answeringForMinutes} minutes | 1 |`,
  `some time-outs of ${CALLBACK_TIMEOUT_SECONDS} s`,
  `gets no call within ${seconds(workerTimes.endpointClaimMs)} is left to other workers`,
  `| 2xx within ${CALLBACK_TIMEOUT_SECONDS} s |`,
  `another try after ${callbackDelays}, ±20 %, or after a longer \`Retry-After\`, of up to ${hours(longestCallbackRetryAfterMs)};`,
  `after ${disabledAfterDays} days of calls without a 2xx`,
  `\`CALLBACK_RETENTION_DAYS\` (${CALLBACK_RETENTION_DAYS})`,
])
