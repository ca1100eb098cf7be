import type { Figure } from './figures.ts'

/** One line of the table. */
export interface Result {
  case: string
  /** What the figures are of. */
  measured: string
  figures: Figure[]
  /** Absent, as is whether it is reached, where the figures are there to be looked at. */
  reach?: string
  isReached?: boolean
  /** Where more than what has to be reached is aimed for. */
  isAimReached?: boolean
}

export interface BenchmarkOptions {
  runs: number
  /** Smaller sizes, for trying. */
  isQuick: boolean
  /** Whether the case of this name is asked for. */
  isChosen(name: string): boolean
  tell(progress: string): void
}

/** What one benchmark found. */
export interface Findings {
  /** Under which it was measured, in words. */
  conditions: string
  results: Result[]
}

export interface Benchmark {
  /** Of its cases, in the order of the table. */
  names: readonly string[]
  run(options: BenchmarkOptions): Promise<Findings>
}

/** Each variant once a run, next to one another, so that what the machine does meanwhile falls on all alike. */
export async function alternate(runs: number, variants: readonly (() => Promise<unknown>)[]): Promise<void> {
  for (let run = 0; run < runs; run++) {
    for (const measure of variants) await measure()
  }
}
