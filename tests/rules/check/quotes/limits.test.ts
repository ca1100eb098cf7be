import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { idempotencyKeptHours } from '../../../../db/admission/idempotency-keys.ts'
import { quotaPerAccount, quotaPerChannel } from '../../../../db/admission/quota.ts'
import { defaultReplayLimit, replaysPerSecond } from '../../../../db/support/replays.ts'
import { processedBytes, receivedBytes, smallBytes } from '../../../../src/api/body/large/large-bodies.ts'
import { timeouts } from '../../../../src/api/client-timeouts.ts'
import { breakerFirstSeconds, breakerLongestSeconds } from '../../../../src/core/delivery-times.ts'
import { maxIssues } from '../../../../src/core/issues.ts'
import { maxDepth, maxFields } from '../../../../src/core/json-limits.ts'
import { maxMediaBytes } from '../../../../src/core/message-body.ts'
import { longestRetryAfterMs, maxLosses } from '../../../../src/core/outcome.ts'
import { failuresToOpen } from '../../../../workers/failure-streaks.ts'
import * as overflowLimit from '../../../../workers/overflow-limit.ts'
import { lateMediaBytes, shareOfAccount, shareOfAll } from '../../../../workers/sends/dispatch/fetch-media.ts'
import { mediaBytesInFlight } from '../../../../workers/sends/dispatch/media-memory.ts'
import { keptShare, maxOrdinaryWork } from '../../../../workers/slots.ts'
import { pageSize } from '../../../../workers/upkeep/sweep.ts'
import { workerTimes } from '../../../../workers/worker-times.ts'
import { grouped, kibibytes, mebibytes, percent, quotes, retryDelays, seconds, settings } from './quote.ts'

const { PROVIDER_TIMEOUT_SECONDS, RETENTION_DAYS, MEDIA_RETENTION_HOURS, WORKER_CONCURRENCY } = settings

/** Rows of docs/reference/limits.md: what is limited, and to what. */
const limits: [what: string, limit: string][] = [
  ['body of a request', `${grouped(settings.MAX_BODY_BYTES)} bytes (${mebibytes(settings.MAX_BODY_BYTES)})`],
  ['media as base64, decoded', `${grouped(maxMediaBytes)} bytes (${mebibytes(maxMediaBytes)})`],
  ['fields and items of a body', `${grouped(maxFields)}, and ${maxDepth} levels deep`],
  ['faulty fields that a 400 names', `${maxIssues}`],
  ['requests of an account', `${settings.RATE_LIMIT_POINTS} in ${settings.RATE_LIMIT_WINDOW_SECONDS} s`],
  ['requests with faulty keys or proofs from one address', `${settings.AUTH_FAILURE_LIMIT} in 60 s`],
  ['sends in flight of a worker', `${WORKER_CONCURRENCY}`],
  ['share of them from the overflow', percent(1 - keptShare)],
  [
    'sends that a worker works on itself, without those that wait for their provider',
    `${maxOrdinaryWork} of each queue, [${overflowLimit.minWork} at least]`,
  ],
  [
    "share of a worker's slots for fetches of media: of one account, of all",
    `${percent(shareOfAccount)}, ${percent(shareOfAll)}`,
  ],
  [
    'quota of an account in the ordinary queue',
    `${quotaPerChannel} sends for each channel, ${quotaPerAccount} in all`,
  ],
  ['a call to a provider', `${PROVIDER_TIMEOUT_SECONDS} s without progress`],
  ['attempts', `${settings.RETRY_DELAYS_SECONDS.length + 1}: retries after ${retryDelays}`],
  ['`Retry-After` that is heeded', `${longestRetryAfterMs / 86_400_000} days`],
  ['workers that a send may crash', `${maxLosses}`],
  ["a worker's lease", seconds(workerTimes.leaseMs)],
  [
    'failures that open a circuit breaker',
    `${failuresToOpen} in a row, over ${seconds(workerTimes.failingForMs)}`,
  ],
  ['time that it stays open', `${breakerFirstSeconds} s to ${breakerLongestSeconds / 60} min`],
  ['a replayed set', `${defaultReplayLimit} sends, ${replaysPerSecond} due each second`],
  [
    'a send with its timeline, its media and what the sandbox received of it',
    `${RETENTION_DAYS} days after its end`,
  ],
  ['the content that came as `base64`', `${MEDIA_RETENTION_HOURS} hours after the end of its send`],
  ['a conversation', `${RETENTION_DAYS} days after it was closed`],
  ['an Idempotency-Key', `${idempotencyKeptHours} hours after the accept`],
]

test.each(limits)('docs/reference/limits.md has %s: %s', (what, limit) => {
  const page = readFileSync('docs/reference/limits.md', 'utf8')
  const row = page.split('\n').find((line) => line.startsWith(`| ${what} | ${limit}`))
  expect(row?.slice(`| ${what} | ${limit}`.length)).toMatch(/^(?!\d)/)
})

quotes('reference/limits', [
  `in pages of ${pageSize}`,
  `Bodies of more than ${kibibytes(smallBytes)} share a memory budget`,
  `| ${mebibytes(receivedBytes)}, of which ${mebibytes(receivedBytes / 2)} for an account; \`MAX_BODY_BYTES\` if that is more | they wait and aren't read on; after ${seconds(timeouts.queuedMs)} they are a 503`,
  `| ${mebibytes(processedBytes)}, of which ${mebibytes(processedBytes / 2)} for an account`,
  `and ${mebibytes(mediaBytesInFlight)} for [content of media]`,
  `takes up to ${mebibytes(lateMediaBytes)} more`,
])
