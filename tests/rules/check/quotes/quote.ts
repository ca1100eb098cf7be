import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { limitOfKey } from '../../../../src/api/keys/key-limit.ts'
import { readSettings } from '../../../../src/platform/settings/settings.ts'

/** The defaults of the settings that the docs quote. */
export const settings = readSettings([
  ...(['MAX_BODY_BYTES', 'RATE_LIMIT_POINTS', 'RATE_LIMIT_WINDOW_SECONDS', 'AUTH_FAILURE_LIMIT'] as const),
  ...(['PROVIDER_TIMEOUT_SECONDS', 'RETRY_DELAYS_SECONDS', 'RETENTION_DAYS'] as const),
  ...(['MEDIA_RETENTION_HOURS', 'WORKER_CONCURRENCY', 'CALLBACK_CONCURRENCY'] as const),
  ...(['CALLBACK_RETRY_DELAYS_SECONDS', 'CALLBACK_TIMEOUT_SECONDS', 'CALLBACK_RETENTION_DAYS'] as const),
])

const { RATE_LIMIT_POINTS: points, RATE_LIMIT_WINDOW_SECONDS } = settings
export const keyPoints = limitOfKey({ points, seconds: RATE_LIMIT_WINDOW_SECONDS }).points

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

/** The text of each section of a page, by its heading; the text before the first has none. */
function sectionsOf(page: string): Map<string, string> {
  const text = readFileSync(`docs/${page}.md`, 'utf8')
  const [, ...sections] = `\n## \n${text}`.split('\n## ')
  return new Map(
    sections.map((section) => {
      const end = section.indexOf('\n')
      return [section.slice(0, end), section.slice(end).replaceAll(/\s+/g, ' ')]
    }),
  )
}

/** Not as a part of another number. */
function has(text: string, figure: string): boolean {
  return new RegExp(`(?<!\\d|\\d[.,])${figure.replaceAll(/[^\w\s]/g, '\\$&')}(?!\\d|[.,]\\d)`).test(text)
}

/**
 * Holds sections of a page to figures of the code: of limits that no setting has, or of defaults. Each figure has just the words that tell it
 * from the section's other figures; the sentences are free.
 */
export function figures(page: string, expected: Record<string, readonly string[]>): void {
  const sections = sectionsOf(page)
  test.each(Object.entries(expected))(`docs/${page}.md has the figures of the code: %s`, (heading, all) => {
    const text = sections.get(heading) ?? ''
    expect(all.filter((figure) => !has(text, figure))).toEqual([])
  })
}
