import { quotaPerAccount, quotaPerChannel } from '../../../../db/admission/quota.ts'
import { givesUpAfterMs } from '../../../../db/connection/client.ts'
import { leeway, permitsDuringSlowStart } from '../../../../db/delivery/permits.ts'
import { replaysPerSecond } from '../../../../db/sends/replays.ts'
import { maxMediaBytes } from '../../../../src/core/messages/message-body.ts'
import {
  breakerFirstSeconds,
  breakerLongestSeconds,
  firstPutOffMs,
  headStartMs,
  lateMediaKeptMs,
  leastWaitSeconds,
  longestPutOffMs,
  longestWaitForMemoryMs,
  probeMarginSeconds,
  slowStartAfterSeconds,
  waitInSlotMs,
} from '../../../../src/core/sends/delivery-times.ts'
import { largestPriority } from '../../../../src/queue/fair-order.ts'
import { failuresToOpen } from '../../../../workers/http/failure-streaks.ts'
import { slowestBytesPerSecond } from '../../../../workers/http/time-limit.ts'
import * as overflowLimit from '../../../../workers/queue/overflow-limit.ts'
import { keptShare, maxOrdinaryWork } from '../../../../workers/queue/slots.ts'
import { searchAgainAfterMs } from '../../../../workers/sends/claim/beside-away.ts'
import { lateMediaBytes, shareOfAccount, shareOfAll } from '../../../../workers/sends/dispatch/fetch-media.ts'
import { maxReads } from '../../../../workers/sends/dispatch/load-media.ts'
import { mediaBytesInFlight } from '../../../../workers/sends/dispatch/media-memory.ts'
import { sendsPerPass } from '../../../../workers/upkeep/reconcile.ts'
import { workerTimes } from '../../../../workers/worker-times.ts'
import { figures, grouped, mebibytes, percent, seconds, settings, totalRetryDelay } from './quote.ts'

const { PROVIDER_TIMEOUT_SECONDS } = settings
const { leaseMs, sweepEveryMs, permitValidMs, failingForMs } = workerTimes
const overflowShare = percent(1 - keptShare)
const calls = { limit: 600, seconds: 60 }

figures('explanation/delivery', {
  Lanes: [seconds(leaseMs + sweepEveryMs), `${replaysPerSecond}`],
  'Channels with limits': [
    seconds(searchAgainAfterMs),
    `${headStartMs} ms`,
    `${1 + leeway} ×`,
    percent(leeway),
    `${(calls.seconds * (1 + leeway)) / calls.limit} s`,
    seconds(permitValidMs),
  ],
  'Circuit breakers': [
    `${PROVIDER_TIMEOUT_SECONDS} s`,
    `${failuresToOpen} failures`,
    seconds(failingForMs),
    `${breakerFirstSeconds} s`,
    `${breakerLongestSeconds / 60} minutes`,
    `\`PROVIDER_TIMEOUT_SECONDS\` + ${probeMarginSeconds} s`,
    totalRetryDelay,
    `${leastWaitSeconds / 60} minutes`,
  ],
  Fairness: [
    `quota of ${quotaPerChannel} sends`,
    `${quotaPerAccount} in all`,
    overflowShare,
    `${permitsDuringSlowStart} calls`,
    `${slowStartAfterSeconds} s`,
  ],
  Slots: [
    `\`WORKER_CONCURRENCY\` slots (${settings.WORKER_CONCURRENCY})`,
    overflowShare,
    `${maxOrdinaryWork} sends`,
    `1/${1 / overflowLimit.raisedBy}`,
    `${overflowLimit.maxWork}`,
    `${overflowLimit.minWork}`,
  ],
  'Time limits': [
    `\`PROVIDER_TIMEOUT_SECONDS\` (${PROVIDER_TIMEOUT_SECONDS})`,
    `${1_000_000 / slowestBytesPerSecond} s`,
    `${(slowestBytesPerSecond * 8) / 1_000_000} Mbit/s`,
  ],
  'Fetching media': [
    percent(shareOfAccount),
    percent(shareOfAll),
    `${waitInSlotMs} ms`,
    [1, 2, 4].map((times) => seconds(firstPutOffMs * times)).join(', '),
    seconds(longestPutOffMs),
    mebibytes(maxMediaBytes),
    `${lateMediaKeptMs / 60_000} minutes`,
    mebibytes(lateMediaBytes),
  ],
  'Memory for media': [
    mebibytes(mediaBytesInFlight),
    mebibytes(mediaBytesInFlight / 2),
    seconds(longestWaitForMemoryMs),
    `${maxReads} of`,
  ],
  Limits: [
    `${1000 * leeway} ms`,
    seconds(givesUpAfterMs),
    `${failuresToOpen} failures`,
    `${quotaPerChannel} sends`,
    percent(keptShare),
    `${permitsDuringSlowStart} calls`,
    grouped(sendsPerPass),
    grouped(largestPriority),
  ],
})
