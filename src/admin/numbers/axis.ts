/** About so many lines divide a chart. */
const lines = 4

/** The numbers of an axis from 0 that holds the given maximum: 1, 2 or 5 times a power of ten apart, the largest first. */
export function axisOf(most: number): number[] {
  const rough = Math.max(most, lines) / lines
  const power = 10 ** Math.floor(Math.log10(rough))
  const step = [1, 2, 5, 10].map((factor) => factor * power).find((one) => one >= rough) ?? rough
  const top = Math.ceil(Math.max(most, 1) / step)
  return Array.from({ length: top + 1 }, (_, place) => (top - place) * step)
}
