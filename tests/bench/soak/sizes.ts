/** How much the load test does. */
export interface Sizes {
  minutes: number
  /** The figures are of parts of this length. */
  partSeconds: number
  accounts: number
  /** Each of the flooding accounts posts as fast as it can, once in this time. */
  floodEverySeconds: number
  /** For measuring the capacity. */
  capacity: number
}

export const full: Sizes = {
  minutes: 30,
  partSeconds: 60,
  accounts: 300,
  floodEverySeconds: 20,
  capacity: 20_000,
}

export const quick: Sizes = {
  minutes: 2,
  partSeconds: 10,
  accounts: 100,
  floodEverySeconds: 10,
  capacity: 6000,
}
