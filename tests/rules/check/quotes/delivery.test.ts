import { quotaPerAccount, quotaPerChannel } from '../../../../db/admission/quota.ts'
import { givesUpAfterMs } from '../../../../db/client.ts'
import { leeway, permitsDuringSlowStart } from '../../../../db/delivery/permits.ts'
import { replaysPerSecond } from '../../../../db/support/replays.ts'
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
} from '../../../../src/core/delivery-times.ts'
import { maxMediaBytes } from '../../../../src/core/message-body.ts'
import { lastTag } from '../../../../src/queue/fair-order.ts'
import { failuresToOpen } from '../../../../workers/failure-streaks.ts'
import * as overflowLimit from '../../../../workers/overflow-limit.ts'
import { searchAgainAfterMs } from '../../../../workers/sends/claim/beside-away.ts'
import { lateMediaBytes, shareOfAccount, shareOfAll } from '../../../../workers/sends/dispatch/fetch-media.ts'
import { maxReads } from '../../../../workers/sends/dispatch/load-media.ts'
import { mediaBytesInFlight } from '../../../../workers/sends/dispatch/media-memory.ts'
import { slowestBytesPerSecond } from '../../../../workers/sends/dispatch/time-limit.ts'
import { keptShare, maxOrdinaryWork } from '../../../../workers/slots.ts'
import { sendsPerPass } from '../../../../workers/upkeep/reconcile.ts'
import { workerTimes } from '../../../../workers/worker-times.ts'
import { grouped, mebibytes, percent, quotes, seconds, settings, totalRetryDelay } from './quote.ts'

const { PROVIDER_TIMEOUT_SECONDS } = settings
const { leaseMs, sweepEveryMs, permitValidMs, failingForMs } = workerTimes
const overflowShare = percent(1 - keptShare)
const calls = { limit: 600, seconds: 60 }

quotes('explanation/delivery', [
  // Lanes
  `the claim is given up, within about ${seconds(leaseMs + sweepEveryMs)}`,
  `of a replayed set, ${replaysPerSecond} become due each second`,
  // Channels with limits
  `their wake-ups, ${headStartMs} ms before the moment`,
  `these moments are ${1 + leeway} × S / N apart`,
  `late by more than ${percent(leeway)} of S doesn't make the call`,
  `\`${calls.limit}/${calls.seconds}\` is a call every ${(calls.seconds * (1 + leeway)) / calls.limit} s`,
  `A permit without a claim expires after ${seconds(permitValidMs)}`,
  `wait up to ${seconds(searchAgainAfterMs)} longer for a permit`,
  `At \`80/1\` a call may be late by ${1000 * leeway} ms`,
  `locks the channels' rows for up to ${seconds(givesUpAfterMs)}`,
  // Circuit breakers
  `each attempt up to ${PROVIDER_TIMEOUT_SECONDS} s of a slot`,
  `${failuresToOpen} failures of the provider in a row, over at least ${seconds(failingForMs)}`,
  `open for ${breakerFirstSeconds} s, then after each failed probe for twice as long, at most ${breakerLongestSeconds / 60} minutes`,
  `after \`PROVIDER_TIMEOUT_SECONDS\` + ${probeMarginSeconds} s, another send becomes the probe`,
  `the sum of \`RETRY_DELAYS_SECONDS\` (${totalRetryDelay} by default)`,
  `at least ${leastWaitSeconds / 60} minutes`,
  `On a quiet channel, ${failuresToOpen} failures of one send's retries`,
  // Fairness
  `within its account's quota?<br>${quotaPerChannel} a channel, ${quotaPerAccount} in all`,
  `a quota of ${quotaPerChannel} sends for each of its channels, and ${quotaPerAccount} in all`,
  `overflow -- at most ${overflowShare} --> slots`,
  `at most ${permitsDuringSlowStart} calls of a channel's overflow are in flight at a time`,
  `After ${slowStartAfterSeconds} s without an answer it applies again`,
  `While an account's ${quotaPerChannel} sends in a channel wait`,
  `others have ${percent(keptShare)} of the slots`,
  `fill the slots of a worker, ${quotaPerChannel} sends for each channel`,
  `hold the channel's permits, also those of the ${permitsDuringSlowStart} calls of its slow start`,
  `up to ${grouped(sendsPerPass)} due sends at a time`,
  `Tags end** at ${grouped(lastTag)}`,
  // Slots
  `\`WORKER_CONCURRENCY\` slots (${settings.WORKER_CONCURRENCY})`,
  `The overflow may use ${overflowShare} of the slots`,
  `at most ${maxOrdinaryWork} sends of the ordinary queue at a time`,
  `at least ${percent(keptShare)} of the slots, and at least one, stay for the overflow`,
  `always lets ${overflowLimit.minWork} sends of the overflow work`,
  `adds 1/${1 / overflowLimit.raisedBy} of a send to it, up to ${overflowLimit.maxWork}`,
  `halves it, down to ${overflowLimit.minWork}`,
  // Time limits
  `\`PROVIDER_TIMEOUT_SECONDS\` (${PROVIDER_TIMEOUT_SECONDS}) after its last bytes have moved`,
  `${1_000_000 / slowestBytesPerSecond} s for each megabyte that has moved (${(slowestBytesPerSecond * 8) / 1_000_000} Mbit/s)`,
  // Fetching media
  `use at most ${percent(shareOfAccount)} of the slots, and those of all accounts ${percent(shareOfAll)}`,
  `a send waits up to ${waitInSlotMs} ms in its slot`,
  `has begun or ended for ${waitInSlotMs} ms`,
  `tried again after ${[1, 2, 4].map((times) => seconds(firstPutOffMs * times)).join(', ')}, … up to ${seconds(longestPutOffMs)}`,
  `or else ${mebibytes(maxMediaBytes)}, is reserved`,
  `for ${lateMediaKeptMs / 60_000} minutes, at most ${mebibytes(lateMediaBytes)} in all`,
  // Memory for media
  `at most ${mebibytes(mediaBytesInFlight)} of a worker, and ${mebibytes(mediaBytesInFlight / 2)} for one account`,
  `Without free memory within ${seconds(longestWaitForMemoryMs)}`,
  `At most ${maxReads} of the worker's connections`,
])
