import type { Figure } from './figures.ts'

/** One line of the table. */
export interface Result {
  case: string
  measured: string
  figures: Figure[]
  /** The criterion. Absent, like `isReached`, for figures without one. */
  reach?: string
  isReached?: boolean
  /** For figures with an aim beyond the criterion. */
  isAimReached?: boolean
}

export interface BenchmarkOptions {
  runs: number
  /** Sends that are there, if not as many as usual. Only for console. */
  sends?: number | undefined
  /** Masters of a Redis Cluster to measure on; one Redis if undefined. Only for fairness. */
  masters: number | undefined
  /** Smaller sizes, for a trial. */
  isQuick: boolean
  /** Whether the case of this name is selected. */
  isChosen(name: string): boolean
  print(progress: string): void
}

/** The results of one benchmark. */
export interface Findings {
  /** The conditions of the measurement, as text. */
  conditions: string
  results: Result[]
  /** In Mermaid, for the docs. */
  charts?: string[]
}

export interface Benchmark {
  /** The names of its cases, in the order of the table. */
  names: readonly string[]
  run(options: BenchmarkOptions): Promise<Findings>
}

/** Measures each variant once per run, next to one another, so that other load on the machine affects all alike. */
export async function alternate(runs: number, variants: readonly (() => Promise<unknown>)[]): Promise<void> {
  for (let run = 0; run < runs; run++) {
    for (const measure of variants) await measure()
  }
}
