import { type ListInput, listLink, toMinute } from '../sends/list-form.ts'
import { type Figure, formatCount, hoursOf, type Span } from './spans.ts'

/** Whose sends are counted: all, or those of an account or a channel. */
export interface CountedOf {
  accountId?: string | undefined
  channelId?: string
}

/** The list that a figure counts. Waiting sends have several states, so that they are no one list. */
const filters: Record<Figure, ListInput | undefined> = {
  Accepted: {},
  Sent: { status: 'sent' },
  Delivered: { status: 'sent', delivery: 'delivered' },
  Read: { status: 'sent', delivery: 'read' },
  Undelivered: { status: 'sent', delivery: 'undelivered' },
  Failed: { status: 'failed' },
  Uncertain: { status: 'uncertain' },
  Canceled: { status: 'canceled' },
  Waiting: undefined,
}

interface FigureLinkProps {
  figure: Figure
  count: number
  of: CountedOf
  span: Span
  now: Date
}

/** A number that leads to the sends it counts. */
export function FigureLink({ figure, count, of, span, now }: FigureLinkProps) {
  const filter = filters[figure]
  const [from = now] = hoursOf(span, now)
  if (!filter || count === 0) return <>{formatCount(count)}</>
  const { accountId, channelId } = of
  const input = {
    ...(accountId !== undefined && { accountId }),
    ...(channelId !== undefined && { channelId }),
    ...filter,
    acceptedFrom: toMinute(from.getTime()),
  }
  return <a href={listLink(input)}>{formatCount(count)}</a>
}
