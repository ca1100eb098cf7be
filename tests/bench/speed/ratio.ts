import type { Result } from '../benchmark.ts'
import { type Figure, median } from '../figures.ts'

interface Bounds {
  floor: number
  aim: number
}

/** Two figures measured side by side. */
export interface Compared {
  of: Figure
  to: Figure
}

/** One ratio per run. */
export function ratioOf({ of, to }: Compared): Figure {
  const values = of.values.map((value, run) => value / (to.values[run] ?? Number.NaN))
  return { variant: 'ratio', unit: '', values }
}

/** The median of the runs' ratios counts. Without bounds it is there to be looked at. */
export function ratio(
  name: string,
  measured: string,
  { of, to, floor, aim }: Partial<Bounds> & Compared,
): Result {
  const figure = ratioOf({ of, to })
  if (floor === undefined || aim === undefined) return { case: name, measured, figures: [of, to, figure] }
  const isSmallerBetter = aim < floor
  const judged = reached(median(figure.values), { floor, aim }, isSmallerBetter)
  return { case: name, measured, figures: [of, to, figure], ...judged }
}

/** A single figure; less is better. */
export function atMost(name: string, measured: string, figure: Figure, bounds: Bounds): Result {
  return { case: name, measured, figures: [figure], ...reached(median(figure.values), bounds, true) }
}

/** A figure of which more is better, and others beside it to compare with. */
export function atLeast(
  name: string,
  measured: string,
  figures: [Figure, ...Figure[]],
  bounds: Bounds,
): Result {
  return { case: name, measured, figures, ...reached(median(figures[0].values), bounds, false) }
}

function reached(value: number, { floor, aim }: Bounds, isSmallerBetter: boolean) {
  const isWithin = (bound: number) => (isSmallerBetter ? value <= bound : value >= bound)
  const word = isSmallerBetter ? 'at most' : 'at least'
  return { reach: `${word} ${floor}, aim ${aim}`, isReached: isWithin(floor), isAimReached: isWithin(aim) }
}
