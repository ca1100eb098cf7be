/** One figure of a variant, measured once per run. */
export interface Figure {
  variant: string
  unit: string
  values: number[]
}

export function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b)
  const middle = sorted.length / 2
  const [low = Number.NaN, high = low] = sorted.slice(Math.ceil(middle) - 1, Math.floor(middle) + 1)
  return (low + high) / 2
}

/** The percentile by nearest rank: the smallest value that this share of all values doesn't exceed. */
export function percentile(values: readonly number[], part: number): number {
  const sorted = values.toSorted((a, b) => a - b)
  return sorted[Math.max(0, Math.ceil(part * sorted.length) - 1)] ?? Number.NaN
}

/** Its median, and the range of the runs. */
export function inWords({ variant, unit, values }: Figure): string {
  const printed = [median(values), Math.min(...values), Math.max(...values)].map(rounded)
  return `${variant} ${printed[0]}${unit} (${printed[1]}–${printed[2]})`
}

function rounded(value: number): string {
  const size = Math.abs(value)
  // Aims for ratios have two digits.
  const digits = size < 2 ? 2 : size < 10 ? 1 : 0
  return value.toLocaleString('en', { maximumFractionDigits: digits })
}
