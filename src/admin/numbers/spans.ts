import type { Counts } from '../../../db/counters/read.ts'
import { type Count, mostCounted } from '../../../db/sends/list-count.ts'
import { hourMs } from '../../core/durations.ts'

/** The times that pages count over: so many whole hours, and the present one. */
export const spans = {
  hour: { hours: 1, name: 'Last hour' },
  day: { hours: 24, name: '24 hours' },
  week: { hours: 168, name: '7 days' },
} as const

export type Span = keyof typeof spans
export const spanNames = Object.keys(spans) as Span[]

/** The beginnings of the hours of a span, the oldest first. */
export function hoursOf(span: Span, now: Date): Date[] {
  const present = Math.floor(now.getTime() / hourMs) * hourMs
  const { hours } = spans[span]
  return Array.from({ length: hours + 1 }, (_, ago) => new Date(present - (hours - ago) * hourMs))
}

/** The hours of a week and a day: a chart of the last day shows the same hours of the week before, too. */
export function hoursCharted(now: Date): Date[] {
  const week = hoursOf('week', now)
  const [first = now] = week
  const before = Array.from(
    { length: spans.day.hours },
    (_, ago) => new Date(first.getTime() - (ago + 1) * hourMs),
  )
  return [...before.toReversed(), ...week]
}

export const firstHourOf = (span: Span, now: Date): Date => hoursOf(span, now)[0] ?? now

export const noCounts: Counts = {
  accepted: 0,
  sent: 0,
  delivered: 0,
  read: 0,
  undelivered: 0,
  failed: 0,
  uncertain: 0,
  canceled: 0,
}

export function sumOf(all: readonly Counts[]): Counts {
  const sum = { ...noCounts }
  for (const counts of all) for (const name of Object.keys(sum) as (keyof Counts)[]) sum[name] += counts[name]
  return sum
}

/** The sums of the hours of a span, of counts by hour. */
export function sumOfSpan(byHour: readonly (Counts & { hour: Date })[], span: Span, now: Date): Counts {
  const [from = now] = hoursOf(span, now)
  return sumOf(byHour.filter(({ hour }) => hour >= from))
}

/** The counts that pages show: `sent` are all that the provider took, of which some are delivered, read or undelivered. */
export function figuresOf(counts: Counts) {
  const { accepted, sent, delivered, read, undelivered, failed, uncertain, canceled } = counts
  const allSent = sent + delivered + read + undelivered
  return {
    Accepted: accepted,
    Sent: allSent,
    Delivered: delivered,
    Read: read,
    Undelivered: undelivered,
    Failed: failed,
    Uncertain: uncertain,
    Canceled: canceled,
    Waiting: accepted - allSent - failed - uncertain - canceled,
  }
}

export type Figure = keyof ReturnType<typeof figuresOf>

/** The meaning of each figure, for readers who don't know the service. */
export const figureWords: Record<Figure, string> = {
  Accepted: 'answered with 202 in this time; the other figures say what became of these',
  Sent: 'the provider took the message; of these, some are delivered, read or undelivered',
  Delivered: 'the contact got it, and has not read it',
  Read: 'the contact read it',
  Undelivered: 'the provider took it, and reported later that it could not be delivered',
  Failed: 'refused, or given up',
  Uncertain: 'the provider may or may not have it',
  Canceled: 'canceled before it was sent',
  Waiting: 'scheduled, queued, or being sent',
}
export const figureNames = Object.keys(figureWords) as Figure[]

export const formatCount = (count: number): string => count.toLocaleString('en-US')

/** The length of a list, in words, such as `3 channels`; `More than …` beyond what is counted. */
export function totalOf({ count, isMore }: Count, what: string, several = `${what}s`): string {
  const words = isMore ? (count >= mostCounted ? 'More than ' : 'At least ') : ''
  return `${words}${formatCount(isMore ? Math.min(count, mostCounted) : count)} ${count === 1 ? what : several}`
}
