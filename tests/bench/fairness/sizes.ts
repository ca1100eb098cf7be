/** The number of sends of each case. */
export interface Sizes {
  /** For measuring the capacity. */
  capacity: number
  backlog: number
  hung: number
  /** Recorded before others are measured beside it, and not to end before them. */
  flood: number
  /** Contacts, and sends per contact. */
  order: { contacts: number; sends: number }
  lane: { ofOne: number; others: number; ofEachOther: number }
  /** Accounts, and sends per account: so few that none of them floods. */
  price: { accounts: number; sends: number }
  /** Duration of the measurement of latencies. */
  seconds: number
}

export const full: Sizes = {
  capacity: 10_000,
  backlog: 100_000,
  hung: 10_000,
  flood: 60_000,
  order: { contacts: 1000, sends: 20 },
  lane: { ofOne: 10_000, others: 1000, ofEachOther: 10 },
  price: { accounts: 2000, sends: 5 },
  seconds: 5,
}

export const quick: Sizes = {
  capacity: 3000,
  backlog: 5000,
  hung: 1000,
  flood: 30_000,
  order: { contacts: 100, sends: 10 },
  lane: { ofOne: 1000, others: 100, ofEachOther: 20 },
  price: { accounts: 400, sends: 5 },
  seconds: 3,
}
