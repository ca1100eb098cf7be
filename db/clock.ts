import type { PoolClient } from 'pg'
import type { Database } from './client.ts'

const readEveryMs = 5000
/** Older than this, a reading isn't relied on: clocks drift, and a machine may have been suspended. */
const goodForMs = 60_000
const readTimeoutMs = 1000
/** A query that took longer was held up, most often in this process: as it starts, its event loop is busy. */
const promptMs = 20
const triesForPrompt = 4
/** How fast two clocks drift apart at the most, however they are kept in step. */
const mostDrift = 0.0005

interface Reading {
  /** PostgreSQL's clock minus `performance.now()`: at least, and at most. */
  least: number
  most: number
  roundTripMs: number
}

/**
 * PostgreSQL's clock, as this process knows it: by readings, and by `performance.now()` in between, which nobody sets
 * forward or back. What several processes compare, or PostgreSQL does, goes by it, and never by `Date.now()`.
 */
export class DatabaseClock {
  readonly #db: Database
  readonly #onRoundTrip: (ms: number) => void
  #aheadMs: number | undefined
  #readAt = 0
  #reading: Promise<number> | undefined
  #timer: NodeJS.Timeout | undefined

  /** @param onRoundTrip called with the time that the fastest query of each reading took, on a connection that is open. */
  constructor(db: Database, onRoundTrip: (ms: number) => void = () => {}) {
    this.#db = db
    this.#onRoundTrip = onRoundTrip
  }

  /** Reads every 5 s from now on, so that no request has to wait for a reading. */
  start(): void {
    // One that failed is repeated with the next tick, or by a request that needs it.
    const tick = () => void this.read().catch(() => {})
    this.#timer = setInterval(tick, readEveryMs).unref()
    tick()
  }

  stop(): void {
    clearInterval(this.#timer)
  }

  /**
   * How far PostgreSQL's clock, in ms since 1970, is ahead of `performance.now()`: never more than it is, and less by
   * the round trip of a reading at the most, so that moments reckoned with it come a little early rather than late.
   */
  async aheadMs(): Promise<number> {
    if (this.#aheadMs !== undefined && performance.now() - this.#readAt < goodForMs) return this.#aheadMs
    return await this.read()
  }

  /** What PostgreSQL's clock shows now, in ms since 1970; before the first reading, what this machine's does. */
  nowMs(): number {
    return this.#aheadMs === undefined ? Date.now() : performance.now() + this.#aheadMs
  }

  /** Reads now: after what looks as if PostgreSQL's clock had been set, or this machine had been suspended. */
  read(): Promise<number> {
    this.#reading ??= read(this.#db)
      .then((reading) => this.#learn(reading))
      .finally(() => {
        this.#reading = undefined
      })
    return this.#reading
  }

  /** A slow reading says little, and counts only where it contradicts what is known. */
  #learn({ least, most, roundTripMs }: Reading): number {
    const now = performance.now()
    const known = (this.#aheadMs ?? Number.NEGATIVE_INFINITY) - (now - this.#readAt) * mostDrift
    this.#aheadMs = least > known || most < known ? least : known
    this.#readAt = now
    this.#onRoundTrip(roundTripMs)
    return this.#aheadMs
  }
}

/** Of several queries the best bounds, where the first one was held up: all deadlines would come that much earlier. */
async function read({ $client }: Database): Promise<Reading> {
  const client = await $client.connect()
  try {
    let best = await readOnce(client)
    for (let tries = 1; tries < triesForPrompt && best.roundTripMs > promptMs; tries++) {
      const next = await readOnce(client)
      if (next.roundTripMs < best.roundTripMs) best = next
    }
    client.release()
    return best
  } catch (error) {
    client.release(true)
    throw error
  }
}

async function readOnce(client: PoolClient): Promise<Reading> {
  const askedAt = performance.now()
  const { rows } = await client.query<{ ms: number }>(query)
  const answeredAt = performance.now()
  const ms = rows[0]?.ms ?? 0
  return { least: ms - answeredAt, most: ms - askedAt, roundTripMs: answeredAt - askedAt }
}

const query = {
  text: 'select extract(epoch from clock_timestamp())::float8 * 1000 as ms',
  query_timeout: readTimeoutMs,
}

/** The moment by PostgreSQL's clock, which the moments of its rows go by. */
export async function databaseNow(db: Database): Promise<Date> {
  const { rows } = await db.$client.query<{ now: Date }>('select clock_timestamp() as now')
  return rows[0]?.now ?? new Date()
}
