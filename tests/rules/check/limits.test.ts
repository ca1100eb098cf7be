import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { idempotencyKeptHours } from '../../../db/admission/idempotency-keys.ts'
import { quotaPerAccount, quotaPerChannel } from '../../../db/admission/quota.ts'
import { firstSeconds, longestSeconds } from '../../../db/delivery/breakers.ts'
import { replaysPerSecond } from '../../../db/support/replays.ts'
import { mostLookedAt, pageSize } from '../../../db/support/search.ts'
import { refreshSeconds } from '../../../src/admin/support/routes.tsx'
import { maxFaults } from '../../../src/core/faults.ts'
import { maxDepth, maxFields } from '../../../src/core/json-limits.ts'
import { maxMediaBytes } from '../../../src/core/message-body.ts'
import { mostLosses } from '../../../src/core/outcome.ts'
import { readSettings } from '../../../src/platform/settings.ts'
import { mostFailures } from '../../../workers/sends/breaker.ts'
import { workerTimes } from '../../../workers/worker-times.ts'

const settings = readSettings([
  ...(['MAX_BODY_BYTES', 'RATE_LIMIT_POINTS', 'RATE_LIMIT_WINDOW_SECONDS', 'AUTH_FAILURE_LIMIT'] as const),
  ...(['PROVIDER_TIMEOUT_SECONDS', 'RETRY_DELAYS_SECONDS', 'RETENTION_DAYS'] as const),
  ...(['MEDIA_RETENTION_HOURS', 'WORKER_CONCURRENCY'] as const),
])

const { failingForMs, leaseMs } = workerTimes
const grouped = (number: number) => number.toLocaleString('en-US')
const seconds = (ms: number) => `${ms / 1000} s`
const words = ['no', 'one', 'two', 'three', 'four', 'five', 'six', 'seven', 'eight', 'nine', 'ten']

function spoken(delaySeconds: number): string {
  if (delaySeconds >= 3600) return `${delaySeconds / 3600} h`
  return delaySeconds > 60 ? `${delaySeconds / 60} min` : `${delaySeconds} s`
}

const delays = settings.RETRY_DELAYS_SECONDS.map(spoken)

/** What the docs say of limits that are written down in the code alone, or are the defaults of settings. */
const sayings: [page: string, words: string][] = [
  ['reference/timeline', `beyond ${quotaPerChannel} in a channel or ${quotaPerAccount} in all take turns`],
  [
    'explanation/delivery',
    `a quota of ${quotaPerChannel} sends for each of its channels, and ${quotaPerAccount} in all`,
  ],
  ['explanation/delivery', `${quotaPerChannel} a channel, ${quotaPerAccount} in all`],
  ['explanation/delivery', `An account whose ${quotaPerChannel} sends in a channel wait`],
  ['explanation/delivery', `the slots of a worker, ${quotaPerChannel} sends for each channel`],
  [
    'reference/timeline',
    `After ${mostFailures} calls in a row that failed, over ${seconds(failingForMs)} or more,`,
  ],
  [
    'reference/timeline',
    `left alone for ${firstSeconds} s, and longer each time it goes on failing, up to ${longestSeconds / 60} min`,
  ],
  ['reference/timeline', `follow after ${delays.slice(0, -1).join(', ')} and ${delays.at(-1)}, each`],
  ['reference/timeline', `there are at most ${delays.length + 1} attempts`],
  ['reference/timeline', `provider once, for ${settings.PROVIDER_TIMEOUT_SECONDS} s at most`],
  ['reference/timeline', `could not renew its lease for ${seconds(leaseMs)} makes no call`],
  ['reference/timeline', `has lost ${words[mostLosses]} workers is \`failed\``],
  [
    'reference/api',
    `may send ${settings.RATE_LIMIT_POINTS} requests in ${settings.RATE_LIMIT_WINDOW_SECONDS} s`,
  ],
  ['reference/api', `sends more than ${settings.AUTH_FAILURE_LIMIT} requests with faulty keys in 60 s`],
  ['reference/api', `at most ${grouped(settings.MAX_BODY_BYTES)} bytes`],
  [
    'reference/api',
    `at most ${grouped(maxFields)} fields and items, and nothing deeper than ${maxDepth} objects or lists`,
  ],
  ['reference/api', `faulty field by its path, the first ${maxFaults} of them`],
  ['reference/api', `A key is kept for ${idempotencyKeptHours} hours from the accept`],
  ['reference/timeline', `A send is kept for ${settings.RETENTION_DAYS} days after its end`],
  ['explanation/delivery', `${replaysPerSecond} become due each second`],
  ['how-to/replay', `${replaysPerSecond} become due each second`],
  ['explanation/reliability', `at most ${replaysPerSecond} a second of a set`],
  ['how-to/find-a-send', `The newest come first, ${pageSize} to a page`],
  ['how-to/find-a-send', `a page looks at ${grouped(mostLookedAt)} sends at most`],
  ['how-to/find-a-send', `the page updates every ${refreshSeconds} s`],
]

const { PROVIDER_TIMEOUT_SECONDS, RETENTION_DAYS, MEDIA_RETENTION_HOURS, WORKER_CONCURRENCY } = settings

/** Rows of docs/reference/limits.md: what is limited, and to what. */
const limits: [what: string, limit: string][] = [
  ['body of a request', `${grouped(settings.MAX_BODY_BYTES)} bytes (25 MiB)`],
  ['media as base64, decoded', `${grouped(maxMediaBytes)} bytes (16 MiB)`],
  ['fields and items of a body', `${grouped(maxFields)}, and ${maxDepth} levels deep`],
  ['faulty fields that a 400 names', `${maxFaults}`],
  ['requests of an account', `${settings.RATE_LIMIT_POINTS} in ${settings.RATE_LIMIT_WINDOW_SECONDS} s`],
  ['requests with faulty keys from one address', `${settings.AUTH_FAILURE_LIMIT} in 60 s`],
  ['sends in flight of a worker', `${WORKER_CONCURRENCY}`],
  [
    'quota of an account in the ordinary queue',
    `${quotaPerChannel} sends for each channel, ${quotaPerAccount} in all`,
  ],
  ['a call to a provider', `${PROVIDER_TIMEOUT_SECONDS} s without progress`],
  ['attempts', `${delays.length + 1}: retries after ${delays.slice(0, -1).join(', ')} and ${delays.at(-1)}`],
  ['workers that a send may crash', `${mostLosses}`],
  ["a worker's lease", seconds(leaseMs)],
  ['failures that open a circuit breaker', `${mostFailures} in a row, over ${seconds(failingForMs)}`],
  ['time that it stays open', `${firstSeconds} s to ${longestSeconds / 60} min`],
  ['a replayed set', `1000 sends, ${replaysPerSecond} due each second`],
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

test.each(sayings)('docs/%s.md quotes the code: “%s”', (page, saying) => {
  const text = readFileSync(`docs/${page}.md`, 'utf8').replaceAll(/\s+/g, ' ')
  expect(text.includes(saying)).toBe(true)
})
