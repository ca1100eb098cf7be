import { quotaPerAccount, quotaPerChannel } from '../../../../db/admission/quota.ts'
import { otherWorkerDelayMs } from '../../../../src/core/sends/delivery-times.ts'
import { maxLosses } from '../../../../src/core/sends/outcome.ts'
import { workerTimes } from '../../../../workers/worker-times.ts'
import { figures, retryDelays, seconds, settings, totalRetryDelay, word } from './quote.ts'

const { leaseMs, sweepEveryMs } = workerTimes

figures('reference/timeline', {
  Delivery: [
    ...[`${quotaPerChannel} in a channel`, `${quotaPerAccount} in all`, retryDelays, totalRetryDelay],
    `${settings.RETRY_DELAYS_SECONDS.length + 1} attempts`,
    `${settings.PROVIDER_TIMEOUT_SECONDS} s`,
    ...[otherWorkerDelayMs, leaseMs, leaseMs + sweepEveryMs].map(seconds),
    `${word(maxLosses)} workers`,
  ],
  Timeline: [`${settings.RETENTION_DAYS} days`],
})
