import type { PoolClient } from 'pg'
import type { Database } from './client.ts'

export const readEveryMs = 5000
/** A reading is valid for this long, because clocks drift, and a machine may have been suspended. */
const goodForMs = 60_000
const readTimeoutMs = 1000
/** A query that took longer was delayed, most often in this process, whose event loop is busy at its start. */
const promptMs = 20
const triesForPrompt = 4
/** Upper bound of the drift between two clocks, even while they are being synchronised. */
const maxDrift = 0.0005

interface Reading {
  /** Bounds of PostgreSQL's clock minus `performance.now()`. */
  least: number
  most: number
  roundTripMs: number
}

/**
 * PostgreSQL's clock, as known to this process: from readings, and from `performance.now()` in between, which can't be set. Use
 * it, never `Date.now()`, for every time that another process or PostgreSQL compares.
 */
export class DatabaseClock {
  readonly #db: Database
  readonly #onRoundTrip: (ms: number) => void
  #aheadMs: number | undefined
  #readAt = 0
  #reading: Promise<number> | undefined
  #timer: NodeJS.Timeout | undefined

  /** @param onRoundTrip called with the round trip of the fastest query of each reading, on an open connection. */
  constructor(db: Database, onRoundTrip: (ms: number) => void = () => {}) {
    this.#db = db
    this.#onRoundTrip = onRoundTrip
  }

  /** Reads every 5 s from now on, so that no request has to wait for a reading. */
  start(): void {
    // A failed reading is repeated at the next tick, or by a request that needs it.
    const tick = () => void this.read().catch(() => {})
    this.#timer = setInterval(tick, readEveryMs).unref()
    tick()
  }

  stop(): void {
    clearInterval(this.#timer)
  }

  /**
   * How far PostgreSQL's clock, in ms since 1970, is ahead of `performance.now()`. The value is never too large, and at most the
   * round trip of a reading too small, so that deadlines computed with it are slightly early instead of late.
   */
  async aheadMs(): Promise<number> {
    if (this.#aheadMs !== undefined && performance.now() - this.#readAt < goodForMs) return this.#aheadMs
    return await this.read()
  }

  /** PostgreSQL's time in ms since 1970; before the first reading, this machine's. */
  nowMs(): number {
    return this.#aheadMs === undefined ? Date.now() : performance.now() + this.#aheadMs
  }

  /** Reads now. For use when PostgreSQL's clock may have been set, or this machine may have been suspended. */
  read(): Promise<number> {
    this.#reading ??= read(this.#db)
      .then((reading) => this.#learn(reading))
      .finally(() => {
        this.#reading = undefined
      })
    return this.#reading
  }

  /** A slow reading has wide bounds, so it counts only if it contradicts the known value. */
  #learn({ least, most, roundTripMs }: Reading): number {
    const now = performance.now()
    const known = (this.#aheadMs ?? Number.NEGATIVE_INFINITY) - (now - this.#readAt) * maxDrift
    this.#aheadMs = least > known || most < known ? least : known
    this.#readAt = now
    this.#onRoundTrip(roundTripMs)
    return this.#aheadMs
  }
}

/** Repeats a delayed query and takes the fastest: wide bounds would make all deadlines too early. */
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
    client.release(error as Error)
    throw error
  }
}

async function readOnce(client: PoolClient): Promise<Reading> {
  const sentAt = performance.now()
  const { rows } = await client.query<{ ms: number }>(query)
  const answeredAt = performance.now()
  const ms = rows[0]?.ms ?? 0
  return { least: ms - answeredAt, most: ms - sentAt, roundTripMs: answeredAt - sentAt }
}

const query = {
  text: 'select extract(epoch from clock_timestamp())::float8 * 1000 as ms',
  query_timeout: readTimeoutMs,
}

/** PostgreSQL's current time, for comparison with times in its rows. */
export async function databaseNow(db: Database): Promise<Date> {
  const { rows } = await db.$client.query<{ now: Date }>('select clock_timestamp() as now')
  return rows[0]?.now ?? new Date()
}
