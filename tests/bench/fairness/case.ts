import type { BenchmarkOptions, Result } from '../benchmark.ts'
import type { Stage } from '../stage.ts'
import type { Sizes } from './sizes.ts'

export interface Conditions extends Pick<BenchmarkOptions, 'runs' | 'print'> {
  sizes: Sizes
  /** Sends per second of all accounts together. */
  load: number
}

export interface Case {
  name: string
  /** The criterion, as text. */
  reach: string
  measure(
    stage: Stage,
    conditions: Conditions,
  ): Promise<Pick<Result, 'measured' | 'figures' | 'isReached' | 'isAimReached'>>
}
