import { setTimeout as sleep } from 'node:timers/promises'
import { retentionTrims } from '../../../db/upkeep/retention.ts'
import { pageSize } from '../../../workers/upkeep/sweep.ts'
import { nowMs } from '../clock.ts'
import { type CpuByProcess, cpuByProcess, sumOf } from '../cpu-by-process.ts'
import { latenciesOf } from '../latency.ts'
import { openAccounts, openChannels } from '../senders.ts'
import { openStage, type Stage } from '../stage.ts'
import { startWarmWorker } from '../warm-up.ts'

export const full = { perSecond: 500, seconds: 20, accounts: 500 }
export const quick = { perSecond: 200, seconds: 5, accounts: 100 }
export type Load = typeof full

/** Until what the warm-up left is done. */
const settleMs = 1000
const idleMs = 5000

/** Of one send, see `Costs`. `redis` is the sum of all nodes, `busiest` the most of them ÷ their mean. */
export interface Measured {
  api: number
  worker: number
  postgres: number
  redis: number
  busiest: number
  wal: number
  disk: number
  trim: number
  trimWal: number
}

/** Costs of a send with one Redis, or a Cluster of so many masters and shards. */
export async function measureStore(
  masters: number,
  { perSecond, seconds, accounts }: Load,
): Promise<Measured> {
  const stage = await openStage(masters === 1 ? {} : { masters })
  try {
    const senders = await openChannels(await openAccounts(stage, accounts), '/accept/costs')
    await startWarmWorker(stage)
    await sleep(settleMs)
    const idle = await read(stage)
    await sleep(idleMs)
    const before = await read(stage)
    await latenciesOf(
      stage,
      senders.map((sender) => ({ sender, perSecond: perSecond / accounts })),
      seconds,
    )
    const after = await read(stage)
    const disk = await diskOf(stage)
    const trimmed = await trimAll(stage)
    const last = await read(stage)
    return {
      ...perSend({ idle, before, after }),
      disk,
      trim: (last.postgres - after.postgres) / trimmed,
      trimWal: (last.wal - after.wal) / trimmed,
    }
  } finally {
    await stage.close()
  }
}

/** Until then: µs of CPU, bytes. */
interface Reading extends CpuByProcess {
  atMs: number
  sends: number
  wal: number
}

async function read(stage: Stage): Promise<Reading> {
  const { rows } = await stage.db.$client.query<{ sends: number; wal: string }>(
    `select (select count(*)::int from sends) as sends, pg_current_wal_lsn() - '0/0' as wal`,
  )
  const [{ sends = 0, wal = '0' } = {}] = rows
  return { atMs: nowMs(), sends, wal: Number(wal), ...(await cpuByProcess(stage)) }
}

/** Without what idle processes use: that is the same at any load. */
function perSend({ idle, before, after }: Record<'idle' | 'before' | 'after', Reading>) {
  const idleTimes = (after.atMs - before.atMs) / (before.atMs - idle.atMs)
  const of = (used: (reading: Reading) => number) =>
    (used(after) - used(before) - (used(before) - used(idle)) * idleTimes) / (after.sends - before.sends)
  const nodes = after.redis.map((_, index) => of((reading) => reading.redis[index] ?? 0))
  return {
    api: of(({ api }) => api),
    worker: of(({ worker }) => worker),
    postgres: of(({ postgres }) => postgres),
    redis: sumOf(nodes),
    busiest: (Math.max(...nodes) * nodes.length) / sumOf(nodes),
    wal: of(({ wal }) => wal),
  }
}

/** What PostgreSQL keeps of a finished send, with its timeline and all indexes. */
async function diskOf({ db }: Stage): Promise<number> {
  const { rows } = await db.$client.query<{ bytes: number }>(`
    select sum(pg_total_relation_size(oid))::float / (select count(*) from sends) as bytes
    from pg_class where relname in ('sends', 'send_events')`)
  return rows[0]?.bytes ?? Number.NaN
}

/** Removes all sends, as after their retention. @returns how many. */
async function trimAll({ db }: Stage): Promise<number> {
  const { sends: trim } = retentionTrims({ days: 0, mediaHours: 0, callbackDays: 7, auditDays: 365 })
  let removed = 0
  for (let page = pageSize; trim && page === pageSize; removed += page) page = await trim(db, pageSize)
  return removed
}
