import type { Result } from '../benchmark.ts'
import { type Figure, median } from '../figures.ts'

interface Bounds {
  floor: number
  aim: number
}

/** Of two figures measured side by side: of each run one ratio, of which the median counts. */
export function ratio(
  name: string,
  measured: string,
  { of, to, floor, aim }: Bounds & { of: Figure; to: Figure },
): Result {
  const values = of.values.map((value, run) => value / (to.values[run] ?? Number.NaN))
  const figures = [of, to, { variant: 'ratio', unit: '', values }]
  const isSmallerBetter = aim < floor
  return { case: name, measured, figures, ...reached(median(values), { floor, aim }, isSmallerBetter) }
}

/** A figure by itself, of which less is better. */
export function atMost(name: string, measured: string, figure: Figure, bounds: Bounds): Result {
  return { case: name, measured, figures: [figure], ...reached(median(figure.values), bounds, true) }
}

function reached(value: number, { floor, aim }: Bounds, isSmallerBetter: boolean) {
  const isWithin = (bound: number) => (isSmallerBetter ? value <= bound : value >= bound)
  const word = isSmallerBetter ? 'at most' : 'at least'
  return { reach: `${word} ${floor}, aim ${aim}`, isReached: isWithin(floor), isAimReached: isWithin(aim) }
}
