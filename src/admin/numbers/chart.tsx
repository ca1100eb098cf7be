import type { Counts } from '../../../db/counters/read.ts'
import { hourMs } from '../../core/durations.ts'
import { DataTable } from '../page/data-table.tsx'
import { axisOf } from './axis.ts'
import { type CountedOf, FigureLink } from './figure-link.tsx'
import { figuresOf, formatCount, hoursOf, noCounts } from './spans.ts'

type ByHour = readonly (Counts & { hour: Date })[]

interface HourOfChart {
  hour: Date
  counts: Counts
  accepted: number
  wrong: number
  /** Accepted in the same hour a week before. */
  before: number
}

const barWidth = 10
const height = 100
const weekMs = 168 * hourMs

interface ChartProps {
  /** Counts of the last 24 hours, and of the same hours a week before. */
  byHour: ByHour
  of: CountedOf
  now: Date
}

/** Accepted sends of the last 24 hours by the hour, beside those of the same hours a week before, with the numbers as a table. */
export function HourChart({ byHour, of, now }: ChartProps) {
  const at = new Map(byHour.map((counts) => [counts.hour.getTime(), counts]))
  const hours = hoursOf('day', now).map((hour) => {
    const counts = at.get(hour.getTime()) ?? noCounts
    const { Accepted, Failed, Undelivered, Uncertain } = figuresOf(counts)
    const before = at.get(hour.getTime() - weekMs)?.accepted ?? 0
    return { hour, counts, accepted: Accepted, wrong: Failed + Undelivered + Uncertain, before }
  })
  const axis = axisOf(Math.max(...hours.map(({ accepted, before }) => Math.max(accepted, before))))
  return (
    <figure class="hours">
      <figcaption>
        <span>Sends accepted an hour</span>
        <span class="legend">
          <span class="key accepted">last 24 hours</span> <span class="key wrong">of these, gone wrong</span>{' '}
          <span class="key before">a week before</span>
        </span>
      </figcaption>
      <div class="plot">
        <div class="axis" aria-hidden="true">
          {axis.map((value) => (
            <span>{formatCount(value)}</span>
          ))}
        </div>
        <Bars hours={hours} axis={axis} />
        <HourNames hours={hours} />
      </div>
      <details>
        <summary>The numbers by the hour</summary>
        <HourTable hours={hours} of={of} />
      </details>
    </figure>
  )
}

function Bars({ hours, axis }: { hours: readonly HourOfChart[]; axis: readonly number[] }) {
  const top = axis[0] ?? 1
  const scaled = (count: number) => Math.round((count / top) * height * 100) / 100
  const width = hours.length * barWidth
  const lineOf = ({ before }: HourOfChart, place: number) =>
    `${place * barWidth + barWidth / 2},${height - scaled(before)}`
  const sum = hours.reduce((all, { accepted }) => all + accepted, 0)
  return (
    <svg
      class="chart"
      viewBox={`0 0 ${width} ${height}`}
      preserveAspectRatio="none"
      role="img"
      aria-label={`${formatCount(sum)} sends accepted in the last 24 hours, by the hour; the table below has the numbers`}
    >
      {axis.map((value) => (
        <line class="grid" x1="0" x2={width} y1={height - scaled(value)} y2={height - scaled(value)} />
      ))}
      {hours.map(({ accepted, wrong }, place) => (
        <>
          <Bar kind="accepted" place={place} size={scaled(accepted)} />
          <Bar kind="wrong" place={place} size={scaled(Math.min(wrong, accepted))} />
        </>
      ))}
      {hours.some(({ before }) => before > 0) && (
        <polyline class="before" points={hours.map(lineOf).join(' ')} />
      )}
    </svg>
  )
}

function Bar({ kind, place, size }: { kind: 'accepted' | 'wrong'; place: number; size: number }) {
  if (size === 0) return null
  return <rect class={kind} x={place * barWidth + 1} y={height - size} width={barWidth - 2} height={size} />
}

/** Every third hour is named below its bar. */
function HourNames({ hours }: { hours: readonly HourOfChart[] }) {
  return (
    <div class="hour-names" aria-hidden="true">
      {hours.map(({ hour }, place) => (
        <span>{place % 3 === 0 && <time datetime={hour.toISOString()}>{hourName(hour)}</time>}</span>
      ))}
    </div>
  )
}

const hourName = (hour: Date) => hour.toISOString().slice(11, 16)

const shown = ['Accepted', 'Sent', 'Failed', 'Undelivered', 'Uncertain'] as const

function HourTable({ hours, of }: { hours: readonly HourOfChart[]; of: CountedOf }) {
  return (
    <DataTable
      label="Sends by the hour of their accept"
      rows={hours.toReversed()}
      idOf={({ hour }) => hour.toISOString()}
      columns={[
        {
          name: 'Hour from (UTC)',
          cell: ({ hour }) => (
            <time datetime={hour.toISOString()}>{hour.toISOString().slice(0, 16).replace('T', ' ')}</time>
          ),
        },
        ...shown.map((name) => ({
          name,
          isNumber: true,
          cell: ({ hour, counts }: HourOfChart) => (
            <FigureLink
              figure={name}
              count={figuresOf(counts)[name]}
              of={of}
              from={hour}
              to={new Date(hour.getTime() + hourMs)}
            />
          ),
        })),
        { name: 'A week before', isNumber: true, cell: ({ before }) => formatCount(before) },
      ]}
    />
  )
}
