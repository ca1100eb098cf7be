import type { Counts } from '../../../db/counters/read.ts'
import { hourMs } from '../../core/durations.ts'
import { type CountedOf, FigureLink } from './figure-link.tsx'
import { figuresOf, formatCount, hoursOf, noCounts } from './spans.ts'

type ByHour = readonly (Counts & { hour: Date })[]

const barWidth = 10
const height = 64

/** Accepted sends of the last 24 hours by hour, those that went wrong marked, with the numbers as a table. */
export function HourChart({ byHour, of, now }: { byHour: ByHour; of: CountedOf; now: Date }) {
  const hours = hoursOf('day', now).map((hour) => {
    const counts = byHour.find((one) => one.hour.getTime() === hour.getTime()) ?? noCounts
    const { Accepted, Failed, Undelivered, Uncertain } = figuresOf(counts)
    return {
      hour,
      accepted: Accepted,
      wrong: Failed + Undelivered + Uncertain,
      failed: Failed,
      figures: counts,
    }
  })
  const most = Math.max(1, ...hours.map(({ accepted, wrong }) => Math.max(accepted, wrong)))
  const scaled = (count: number) => Math.round((count / most) * height * 100) / 100
  const width = hours.length * barWidth
  return (
    <>
      <svg
        class="chart"
        viewBox={`0 0 ${width} ${height}`}
        preserveAspectRatio="none"
        role="img"
        aria-label={`Accepted sends by hour, at most ${formatCount(most)}, and those that went wrong; the table below has the numbers`}
      >
        {hours.map(({ accepted, wrong }, place) => (
          <>
            <Bar kind="accepted" place={place} size={scaled(accepted)} />
            <Bar kind="wrong" place={place} size={scaled(wrong)} />
          </>
        ))}
      </svg>
      <p class="legend">
        <span class="key accepted">accepted</span>{' '}
        <span class="key wrong">failed, undelivered or uncertain</span>
      </p>
      <details class="search">
        <summary>The numbers by hour</summary>
        <div class="scroll">
          <table class="numbers">
            <thead>
              <tr>
                <th scope="col">Hour from (UTC)</th>
                <th scope="col">Accepted</th>
                <th scope="col">Sent</th>
                <th scope="col">Failed</th>
                <th scope="col">Undelivered</th>
                <th scope="col">Uncertain</th>
              </tr>
            </thead>
            <tbody>
              {hours.toReversed().map(({ hour, figures }) => (
                <Row hour={hour} of={of} counts={figures} />
              ))}
            </tbody>
          </table>
        </div>
      </details>
    </>
  )
}

function Bar({ kind, place, size }: { kind: 'accepted' | 'wrong'; place: number; size: number }) {
  return <rect class={kind} x={place * barWidth + 1} y={height - size} width={barWidth - 2} height={size} />
}

function Row({ hour, of, counts }: { hour: Date; of: CountedOf; counts: Counts }) {
  const figures = figuresOf(counts)
  const shown = { of, from: hour, to: new Date(hour.getTime() + hourMs) }
  return (
    <tr>
      <th scope="row">
        <time datetime={hour.toISOString()}>{hour.toISOString().slice(0, 16).replace('T', ' ')}</time>
      </th>
      {(['Accepted', 'Sent', 'Failed', 'Undelivered', 'Uncertain'] as const).map((name) => (
        <td data-label={name}>
          <FigureLink {...shown} figure={name} count={figures[name]} />
        </td>
      ))}
    </tr>
  )
}
