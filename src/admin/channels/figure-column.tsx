import type { Counts } from '../../../db/counters/read.ts'
import type { ListedChannel } from '../../../db/overview/channels.ts'
import { FigureLink } from '../numbers/figure-link.tsx'
import { alarming } from '../numbers/figures.tsx'
import { type Figure, figuresOf, figureWords, noCounts } from '../numbers/spans.ts'
import type { Column } from '../page/data-table.tsx'

/** A column with one count of each channel, which leads to its sends. @param counts from that time on, by the channel's id. */
export function figureColumn(
  figure: Figure,
  counts: ReadonlyMap<string, Counts>,
  from: Date,
): Column<ListedChannel> {
  const countOf = ({ channelId }: ListedChannel) => figuresOf(counts.get(channelId) ?? noCounts)[figure]
  return {
    name: figure,
    title: figureWords[figure],
    isNumber: true,
    classOf: (channel) => alarming(figure, countOf(channel)),
    cell: (channel) => (
      <FigureLink
        of={{ channelId: channel.channelId }}
        from={from}
        figure={figure}
        count={countOf(channel)}
      />
    ),
  }
}
