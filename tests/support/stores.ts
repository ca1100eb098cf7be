import { Redis } from 'ioredis'
import pg from 'pg'
import { v7 as uuidv7 } from 'uuid'
import { freshCluster } from './fresh-cluster.ts'
import { testServers } from './servers.ts'

export interface Stores {
  databaseUrl: string
  redisUrl: string
}

/**
 * SQL of the connections of this database that wait for another transaction. Within a transaction it would return the same
 * ones for ever.
 */
export const waitingForLocks = `
  select pid from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`

/** Whether the stores have a Redis Cluster (tests/system/cluster), which no proxy stands before. */
export const isOnCluster = () => process.env.STORES === 'cluster'

/** An empty, migrated database and an empty Redis database of their own. */
export async function freshStores(): Promise<Stores> {
  const [databaseUrl, redisUrl] = await Promise.all([freshDatabase(), freshRedis()])
  return { databaseUrl, redisUrl }
}

export async function freshDatabase(): Promise<string> {
  const url = new URL((await testServers()).postgresUrl)
  const name = `test_${uuidv7().replaceAll('-', '')}`
  const template = url.pathname.slice(1)
  // A template must not be in use, not even by this connection.
  const maintenance = new URL(url)
  maintenance.pathname = '/template1'
  const client = new pg.Client({ connectionString: maintenance.href })
  await client.connect()
  await client.query(`create database ${name} template ${template} strategy file_copy`)
  await client.end()
  url.pathname = `/${name}`
  return url.href
}

/** Database 0 only counts which ones are taken. */
export async function freshRedis(): Promise<string> {
  if (isOnCluster()) return await freshCluster()
  const url = new URL((await testServers()).redisUrl)
  const redis = new Redis(url.href)
  const index = await redis.incr('databases-taken')
  const [, databases] = (await redis.config('GET', 'databases')) as [string, string]
  redis.disconnect()
  // A connection without a database of its own would use another test's.
  if (index >= Number(databases))
    throw new Error(`Redis has ${databases} databases: src/dev/embedded/redis.ts sets how many`)
  url.pathname = `/${index}`
  return url.href
}
