import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { readSettings } from '../../../../src/platform/settings.ts'

/** The defaults of the settings that the docs quote. */
export const settings = readSettings([
  ...(['MAX_BODY_BYTES', 'RATE_LIMIT_POINTS', 'RATE_LIMIT_WINDOW_SECONDS', 'AUTH_FAILURE_LIMIT'] as const),
  ...(['PROVIDER_TIMEOUT_SECONDS', 'RETRY_DELAYS_SECONDS', 'RETENTION_DAYS'] as const),
  ...(['MEDIA_RETENTION_HOURS', 'WORKER_CONCURRENCY', 'CALLBACK_CONCURRENCY'] as const),
  ...(['CALLBACK_RETRY_DELAYS_SECONDS', 'CALLBACK_TIMEOUT_SECONDS', 'CALLBACK_RETENTION_DAYS'] as const),
])

export const grouped = (number: number) => number.toLocaleString('en-US')
export const seconds = (ms: number) => `${ms / 1000} s`
export const percent = (share: number) => `${Math.round(share * 100)} %`
export const mebibytes = (bytes: number) => `${bytes / 1024 / 1024} MiB`
export const kibibytes = (bytes: number) => `${bytes / 1024} KiB`
export const word = (count: number) => ['no', 'one', 'two', 'three', 'four', 'five', 'six', 'seven'][count]

const spoken = (delaySeconds: number) => {
  if (delaySeconds >= 3600) return `${delaySeconds / 3600} h`
  return delaySeconds > 60 ? `${delaySeconds / 60} min` : `${delaySeconds} s`
}
const listed = (delays: readonly string[]) => `${delays.slice(0, -1).join(', ')} and ${delays.at(-1)}`
export const retryDelays = listed(settings.RETRY_DELAYS_SECONDS.map(spoken))
export const callbackDelays = listed(settings.CALLBACK_RETRY_DELAYS_SECONDS.map(spoken))

const totalMinutes = Math.floor(settings.RETRY_DELAYS_SECONDS.reduce((sum, delay) => sum + delay) / 60)
export const totalRetryDelay = `${Math.floor(totalMinutes / 60)} h ${totalMinutes % 60} min`

/** Holds a page of the docs to sentences with figures of the code: of limits that no setting has, or of their defaults. */
export function quotes(page: string, sentences: readonly string[]): void {
  const text = readFileSync(`docs/${page}.md`, 'utf8').replaceAll(/\s+/g, ' ')
  test.each(sentences)(`docs/${page}.md quotes the code: “%s”`, (sentence) => {
    expect(text.includes(sentence)).toBe(true)
  })
}
