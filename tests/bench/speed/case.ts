import type { BenchmarkOptions, Result } from '../benchmark.ts'
import type { Sizes } from './sizes.ts'

export interface Conditions extends Pick<BenchmarkOptions, 'runs' | 'print'> {
  sizes: Sizes
}

export interface Case {
  name: string
  /** Returns one line of the table for each figure. */
  measure(conditions: Conditions): Promise<Result[]>
}
