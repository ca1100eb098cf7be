import { slowStartAfterMinutes } from '../../../../db/callbacks/endpoint-claims.ts'
import { disabledAfterDays } from '../../../../db/callbacks/endpoint-health.ts'
import { maxEndpointsOfAccount } from '../../../../src/core/callbacks/callback.ts'
import { longestCallbackRetryAfterMs } from '../../../../src/core/callbacks/callback-outcome.ts'
import { callsAtATime } from '../../../../workers/call-back.ts'
import { workerTimes } from '../../../../workers/worker-times.ts'
import { callbackDelays, figures, seconds, settings } from './quote.ts'

const { CALLBACK_CONCURRENCY, CALLBACK_TIMEOUT_SECONDS, CALLBACK_RETENTION_DAYS } = settings
const hours = (ms: number) => `${ms / 3_600_000} hours`

figures('reference/callbacks', {
  '': [`${maxEndpointsOfAccount}`],
  'Slow start': [
    `\`CALLBACK_CONCURRENCY\` (${CALLBACK_CONCURRENCY})`,
    `${slowStartAfterMinutes} minutes`,
    `at most ${callsAtATime} calls`,
    `${CALLBACK_TIMEOUT_SECONDS} s`,
    seconds(workerTimes.endpointClaimMs),
  ],
  Answers: [`${CALLBACK_TIMEOUT_SECONDS} s`, callbackDelays, hours(longestCallbackRetryAfterMs)],
  'A disabled endpoint': [`${disabledAfterDays} days`],
  Retention: [`\`CALLBACK_RETENTION_DAYS\` (${CALLBACK_RETENTION_DAYS})`],
})
