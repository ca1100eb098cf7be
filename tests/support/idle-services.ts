import { getTableName, isTable } from 'drizzle-orm'
import * as schema from '../../db/schema.ts'
import type { Runtime } from '../../src/runtime.ts'

interface Service {
  runtime: Pick<Runtime, 'db' | 'redis' | 'metrics'>
  logs: unknown[]
  stopWorkers(): Promise<void>
}

const tables = Object.values(schema).filter(isTable).map(getTableName)

/**
 * Services that no test uses at the moment, with empty stores. To start one, with a database and connections, takes as long
 * as many tests.
 */
export class IdleServices<Kind extends Service> {
  readonly #idle = new Map<string, Kind[]>()
  #objects: unknown

  /** @param settings with which the service was started. */
  take(settings: object): Kind | undefined {
    return this.#like(settings).pop()
  }

  /** Remembers the objects of a database that no test has used yet. */
  async note({ runtime: { db } }: Kind): Promise<void> {
    this.#objects ??= await objectsIn(db)
  }

  async giveBack(service: Kind, settings: object): Promise<void> {
    await service.stopWorkers()
    const { db, redis, metrics } = service.runtime
    await db.$client.query(`truncate ${tables} restart identity`)
    await redis.flushdb()
    service.logs.splice(0)
    metrics.registry.resetMetrics()
    if ((await objectsIn(db)) !== this.#objects)
      throw new Error('A test that changes the schema needs stores of its own')
    this.#like(settings).push(service)
  }

  #like(settings: object): Kind[] {
    const key = JSON.stringify(settings)
    const services = this.#idle.get(key) ?? []
    this.#idle.set(key, services)
    return services
  }
}

/** All objects that aren't PostgreSQL's own, in one text. */
async function objectsIn({ $client }: Runtime['db']): Promise<unknown> {
  const { rows } = await $client.query(`
    select string_agg(name, ' ' order by name) as names from (
      select concat_ws(':', relname, reloptions) as name from pg_class where oid > 16383
      union all select attrelid::regclass || '.' || attname from pg_attribute where attrelid > 16383
      union all select tgname from pg_trigger
      union all select proname from pg_proc where oid > 16383) objects`)
  return rows[0].names
}
