/** How much each case does. */
export interface Sizes {
  /** Of one load on an API. */
  seconds: number
  /** Of a steady load. */
  steadySeconds: number
  accounts: number
  /** Of each channel. So few that its own places in the ordinary queue hold them. */
  sendsOfEach: number
  /** Of each account, where a worker delivers what was recorded before: enough sends to get it warm. */
  channelsOfEach: number
  finished: number
  /** Between nothing and that. */
  lessFinished: readonly number[]
  waiting: number
  /** Of what memory is measured with. */
  queued: number
}

/** Of an API under load: until then it gets faster. */
export const warmUpSeconds = 8

export const full: Sizes = {
  seconds: 4,
  steadySeconds: 10,
  accounts: 2000,
  sendsOfEach: 15,
  channelsOfEach: 2,
  finished: 5_000_000,
  lessFinished: [100_000, 1_000_000],
  waiting: 100_000,
  queued: 50_000,
}

export const quick: Sizes = {
  seconds: 3,
  steadySeconds: 3,
  accounts: 1000,
  sendsOfEach: 10,
  channelsOfEach: 1,
  finished: 100_000,
  lessFinished: [10_000],
  waiting: 5000,
  queued: 5000,
}
