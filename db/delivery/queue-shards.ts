import type { Database } from '../connection/client.ts'
import { prepared, sqlText } from '../statement.ts'

/** How many shards the queue has, and, while their number changes, how many it had. */
export interface ShardCounts {
  count: number
  previous: number | null
}

const readStatement = prepared<ShardCounts>(
  'read_queue_shards',
  'Reads how many shards the queue has.',
  'select count, previous from queue_shards',
)

/** @returns undefined before the first worker has started. */
export async function readShardCounts(db: Database): Promise<ShardCounts | undefined> {
  const [row] = await readStatement(db, [])
  return row
}

const agreeStatement = prepared(
  'agree_on_queue_shards',
  `Records the number of shards of a worker: if there is none yet; if the worker names the number in force as its former one,
   which begins a change; or if it has the number in force and names no former one, which ends a change.`,
  sqlText`
    insert into queue_shards as in_force (count) values ($1::int)
    on conflict (only_row) do update set count = $1::int, previous = $2::int
    where in_force.count = $2::int or (in_force.count = $1::int and $2::int is null and in_force.previous is not null)`,
)

/** Makes a worker's number of shards the one in force, if it may. */
export async function agreeOnShards(db: Database, { count, previous }: ShardCounts): Promise<void> {
  await agreeStatement(db, [count, previous])
}
