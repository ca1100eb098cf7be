import type { Counts } from '../../../db/counters/read.ts'
import { type CountedOf, FigureLink } from './figure-link.tsx'
import { type Figure, figureNames, figuresOf, figureWords, firstHourOf, type Span, spans } from './spans.ts'

interface FiguresProps {
  columns: readonly { span: Span; counts: Counts }[]
  of: CountedOf
  now: Date
}

/** Counts over several spans, side by side; each leads to its sends. */
export function Figures({ columns, of, now }: FiguresProps) {
  const shown = columns.map(({ span, counts }) => ({
    name: spans[span].name,
    from: firstHourOf(span, now),
    figures: figuresOf(counts),
  }))
  return (
    <table class="figures" aria-label="Sends by what became of them">
      <thead>
        <tr>
          <th scope="col">Accepted in the</th>
          {shown.map(({ name }) => (
            <th scope="col" class="number">
              {name}
            </th>
          ))}
        </tr>
      </thead>
      <tbody>
        {figureNames.map((figure) => (
          <tr>
            <th scope="row" title={figureWords[figure]}>
              {figure}
            </th>
            {shown.map(({ name, from, figures }) => (
              <td data-label={name} class={['number', alarming(figure, figures[figure])].join(' ').trim()}>
                <FigureLink {...{ figure, of, from }} count={figures[figure]} />
              </td>
            ))}
          </tr>
        ))}
      </tbody>
    </table>
  )
}

const bad: ReadonlySet<Figure> = new Set(['Failed', 'Undelivered', 'Uncertain'])

export const alarming = (figure: Figure, count: number) =>
  bad.has(figure) && count > 0 ? 'fault' : undefined

/** From when the figures are: hours are whole, and the present one isn't over. */
export function SpanNote({ from, countedSince }: { from: Date; countedSince: Date | undefined }) {
  return (
    <p class="muted">
      By the hour of the accept, since {hourText(from)} UTC, the present hour included. Figures say what the
      sends are now.
      {countedSince &&
        countedSince > from &&
        ` Sends accepted before ${hourText(countedSince)} UTC are not counted.`}
    </p>
  )
}

const hourText = (moment: Date) => moment.toISOString().slice(0, 16).replace('T', ' ')
