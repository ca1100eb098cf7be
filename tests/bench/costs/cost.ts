/**
 * What a send costs. µs of CPU of each kind of process, of all masters of a Cluster together, and of PostgreSQL to remove the send
 * after its retention; bytes of PostgreSQL's log for both, and of its tables.
 */
export const units = {
  api: ' µs',
  worker: ' µs',
  postgres: ' µs',
  redis: ' µs',
  redis3: ' µs',
  redis6: ' µs',
  wal: ' B',
  disk: ' B',
  trim: ' µs',
  trimWal: ' B',
} as const

export type Cost = keyof typeof units
export type Costs = Record<Cost, number>
export const costs = Object.keys(units) as Cost[]
