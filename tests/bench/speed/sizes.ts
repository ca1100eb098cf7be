/** How much each case does. */
export interface Sizes {
  /** Of one load on an API. */
  seconds: number
  accounts: number
  /** Each of its own channel. So few that an account's own places in the ordinary queue hold them. */
  sendsOfEach: number
  finished: number
  waiting: number
  /** Of what memory is measured with. */
  queued: number
}

export const full: Sizes = {
  seconds: 5,
  accounts: 2000,
  sendsOfEach: 15,
  finished: 5_000_000,
  waiting: 100_000,
  queued: 50_000,
}

export const quick: Sizes = {
  seconds: 3,
  accounts: 1000,
  sendsOfEach: 10,
  finished: 100_000,
  waiting: 5000,
  queued: 5000,
}
