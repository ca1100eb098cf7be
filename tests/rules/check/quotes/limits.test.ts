import { idempotencyKeptHours } from '../../../../db/admission/idempotency-keys.ts'
import { quotaPerAccount, quotaPerChannel } from '../../../../db/admission/quota.ts'
import { maxLookedAt } from '../../../../db/sends/list.ts'
import { defaultReplayLimit, replaysPerSecond } from '../../../../db/sends/replays.ts'
import { processedBytes, receivedBytes, smallBytes } from '../../../../src/api/body/large/large-bodies.ts'
import { timeouts } from '../../../../src/api/http/client-timeouts.ts'
import { maxMediaBytes } from '../../../../src/core/messages/message-body.ts'
import { maxIssues } from '../../../../src/core/requests/issues.ts'
import { maxDepth, maxFields } from '../../../../src/core/requests/json-limits.ts'
import { breakerFirstSeconds, breakerLongestSeconds } from '../../../../src/core/sends/delivery-times.ts'
import { longestRetryAfterMs, maxLosses } from '../../../../src/core/sends/outcome.ts'
import { failuresToOpen } from '../../../../workers/http/failure-streaks.ts'
import * as overflowLimit from '../../../../workers/queue/overflow-limit.ts'
import { keptShare, maxOrdinaryWork } from '../../../../workers/queue/slots.ts'
import { lateMediaBytes, shareOfAccount, shareOfAll } from '../../../../workers/sends/dispatch/fetch-media.ts'
import { mediaBytesInFlight } from '../../../../workers/sends/dispatch/media-memory.ts'
import { pageSize } from '../../../../workers/upkeep/page-size.ts'
import { workerTimes } from '../../../../workers/worker-times.ts'
import {
  figures,
  grouped,
  keyPoints,
  kibibytes,
  mebibytes,
  percent,
  retryDelays,
  seconds,
  settings,
} from './quote.ts'

const { PROVIDER_TIMEOUT_SECONDS, RETENTION_DAYS, MEDIA_RETENTION_HOURS, WORKER_CONCURRENCY } = settings

figures('reference/limits', {
  Requests: [
    ...[settings.MAX_BODY_BYTES, maxMediaBytes].flatMap((bytes) => [grouped(bytes), mebibytes(bytes)]),
    `| ${grouped(maxLookedAt)} scheduled, ${grouped(maxLookedAt)} others |`,
    ...[grouped(maxFields), `${maxDepth} levels`, `${maxIssues}`],
    `${settings.RATE_LIMIT_POINTS} in ${settings.RATE_LIMIT_WINDOW_SECONDS} s`,
    ...[grouped(keyPoints), `${settings.AUTH_FAILURE_LIMIT} in 60 s`],
  ],
  Delivery: [
    ...[`${WORKER_CONCURRENCY}`, `${maxOrdinaryWork} of each queue`, `${overflowLimit.minWork} at least`],
    ...[1 - keptShare, shareOfAccount, shareOfAll].map(percent),
    ...[`${quotaPerChannel} sends`, `${quotaPerAccount} in all`],
    ...[`${PROVIDER_TIMEOUT_SECONDS} s without progress`, seconds(workerTimes.leaseMs)],
    ...[`${settings.RETRY_DELAYS_SECONDS.length + 1}: retries`, retryDelays],
    ...[`${longestRetryAfterMs / 86_400_000} days`, `| ${maxLosses} |`],
    ...[`${failuresToOpen} in a row`, seconds(workerTimes.failingForMs)],
    `${breakerFirstSeconds} s to ${breakerLongestSeconds / 60} min`,
    ...[`${defaultReplayLimit} sends`, `${replaysPerSecond} due each second`],
  ],
  Retention: [
    ...[`pages of ${pageSize}`, `${RETENTION_DAYS} days`],
    ...[`${MEDIA_RETENTION_HOURS} hours after the end`, `${idempotencyKeptHours} hours after the accept`],
  ],
  'Memory of an API process': [
    kibibytes(smallBytes),
    ...[receivedBytes, processedBytes].flatMap((bytes) => [mebibytes(bytes), mebibytes(bytes / 2)]),
    seconds(timeouts.queuedMs),
  ],
  'Memory of a worker': [mediaBytesInFlight, lateMediaBytes].map(mebibytes),
})
