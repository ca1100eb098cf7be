import { Redis } from 'ioredis'
import pg from 'pg'
import type { TestService } from './service.ts'

/**
 * Every row of every table that is not PostgreSQL's own, as text, by the table's name. Bytes stand there twice: in hex, as
 * pg_dump writes them, and as the characters that they are.
 */
export async function dumpDatabase(service: TestService): Promise<Record<string, string>> {
  const client = new pg.Client({ connectionString: service.stores.databaseUrl })
  await client.connect()
  try {
    const { rows: tables } = await client.query<{ name: string }>(
      `select format('%I.%I', schemaname, tablename) as name from pg_tables
       where schemaname not in ('pg_catalog', 'information_schema')`,
    )
    const dump: Record<string, string> = {}
    for (const form of ['hex', 'escape']) {
      await client.query(`set bytea_output = ${form}`)
      for (const { name } of tables) {
        const { rows } = await client.query<{ row: string }>(`select t::text as row from ${name} t`)
        dump[name] = [dump[name] ?? '', ...rows.map(({ row }) => row)].join('\n')
      }
    }
    return dump
  } finally {
    await client.end()
  }
}

/** Every key of the service's Redis with all that it holds. */
export async function dumpRedis(service: TestService): Promise<string> {
  const redis = new Redis(service.stores.redisUrl)
  const read: Record<string, (key: string) => Promise<unknown>> = {
    string: (key) => redis.get(key),
    hash: (key) => redis.hgetall(key),
    list: (key) => redis.lrange(key, '0', '-1'),
    set: (key) => redis.smembers(key),
    zset: (key) => redis.zrange(key, '0', '-1', 'WITHSCORES'),
    stream: (key) => redis.xrange(key, '-', '+'),
    // It went meanwhile.
    none: async () => '',
  }
  const dump: string[] = []
  for (const key of await redis.keys('*')) {
    const type = await redis.type(key)
    const readAll = read[type]
    if (!readAll) throw new Error(`${key} is of the type ${type}, which is not read here`)
    dump.push(`${key} ${JSON.stringify(await readAll(key))}`)
  }
  redis.disconnect()
  return dump.join('\n')
}
