import { type ListInput, listLink, toMinute } from '../sends/list-form.ts'
import { type Figure, formatCount } from './spans.ts'

/** Whose sends are counted: all, or those of an account or a channel. */
export interface CountedOf {
  accountId?: string | undefined
  channelId?: string
}

/** The list that a figure counts. */
const filters: Record<Figure, ListInput> = {
  Accepted: {},
  Sent: { status: 'sent' },
  Delivered: { status: 'sent', delivery: 'delivered' },
  Read: { status: 'sent', delivery: 'read' },
  Undelivered: { status: 'sent', delivery: 'undelivered' },
  Failed: { status: 'failed' },
  Uncertain: { status: 'uncertain' },
  Canceled: { status: 'canceled' },
  Waiting: { status: 'waiting' },
}

interface FigureLinkProps extends CountLinkProps {
  figure: Figure
}

interface CountLinkProps {
  count: number
  of: CountedOf
  /** The time of the accepts: hours are whole. */
  from: Date
  /** Until now without it. */
  to?: Date
}

/** A figure that leads to the sends it counts. */
export const FigureLink = ({ figure, ...props }: FigureLinkProps) => (
  <CountLink {...props} filter={filters[figure]} />
)

/** A number that leads to the list of what it counts. */
export function CountLink({ filter, count, of, from, to }: CountLinkProps & { filter: ListInput }) {
  if (count === 0) return <>0</>
  const { accountId, channelId } = of
  const input = {
    ...(accountId !== undefined && { accountId }),
    ...(channelId !== undefined && { channelId }),
    ...filter,
    acceptedFrom: toMinute(from.getTime()),
    ...(to && { acceptedTo: toMinute(to.getTime()) }),
  }
  return <a href={listLink(input)}>{formatCount(count)}</a>
}
