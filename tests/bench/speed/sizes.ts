/** The sizes of each case. */
export interface Sizes {
  /** Seconds of one load on an API. */
  seconds: number
  /** Seconds of a steady load. */
  steadySeconds: number
  accounts: number
  /** Sends per channel, within its quota in the ordinary queue. */
  sendsOfEach: number
  /** Channels per account in cases with a worker, so that there are enough sends to warm it up. */
  channelsOfEach: number
  /** Sends of an account that has the worker for itself. */
  lone: number
  /** Receipts of one load. */
  receipts: number
  /** Callbacks of one backlog. */
  callbacks: number
  finished: number
  /** Finished sends in the smaller histories of the curve. */
  lessFinished: readonly number[]
  waiting: number
  /** Sends for measurements of memory. */
  queued: number
  mediaAtOnce: number
  /** Sends that are scheduled for later. */
  scheduled: number
  /** Sends of the account whose sends are listed. */
  listed: number
  /** Entries of an account that suppresses many contacts, and how many of them are imported. */
  suppressed: number
  imported: number
}

/** Seconds of warm-up of an API under load. */
export const warmUpSeconds = 8

export const full: Sizes = {
  seconds: 4,
  steadySeconds: 10,
  accounts: 2000,
  sendsOfEach: 15,
  channelsOfEach: 2,
  lone: 20_000,
  receipts: 200_000,
  callbacks: 50_000,
  finished: 5_000_000,
  lessFinished: [100_000, 1_000_000],
  waiting: 100_000,
  queued: 50_000,
  mediaAtOnce: 500,
  scheduled: 1_000_000,
  listed: 10_000_000,
  suppressed: 5_000_000,
  imported: 1_000_000,
}

export const quick: Sizes = {
  seconds: 3,
  steadySeconds: 3,
  accounts: 1000,
  sendsOfEach: 10,
  channelsOfEach: 1,
  lone: 5000,
  receipts: 40_000,
  callbacks: 10_000,
  finished: 100_000,
  lessFinished: [10_000],
  waiting: 5000,
  queued: 5000,
  mediaAtOnce: 60,
  scheduled: 20_000,
  listed: 200_000,
  suppressed: 50_000,
  imported: 20_000,
}
