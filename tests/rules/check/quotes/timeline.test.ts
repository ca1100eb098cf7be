import { quotaPerAccount, quotaPerChannel } from '../../../../db/admission/quota.ts'
import { otherWorkerDelayMs } from '../../../../src/core/delivery-times.ts'
import { maxLosses } from '../../../../src/core/outcome.ts'
import { workerTimes } from '../../../../workers/worker-times.ts'
import { quotes, retryDelays, seconds, settings, totalRetryDelay, word } from './quote.ts'

quotes('reference/timeline', [
  `beyond ${quotaPerChannel} in a channel or ${quotaPerAccount} in all take turns`,
  `follow after ${retryDelays}, each`,
  `whose delays add up to ${totalRetryDelay}`,
  `there are at most ${settings.RETRY_DELAYS_SECONDS.length + 1} attempts`,
  `provider once, for ${settings.PROVIDER_TIMEOUT_SECONDS} s at most`,
  `after ${seconds(otherWorkerDelayMs)} if settings are missing`,
  `could not renew its lease for ${seconds(workerTimes.leaseMs)} makes no call`,
  `is noticed within about ${seconds(workerTimes.leaseMs + workerTimes.sweepEveryMs)}`,
  `has lost ${word(maxLosses)} workers is \`failed\``,
  `A send is kept for ${settings.RETENTION_DAYS} days after its end`,
])
