import { createAdminApp } from '../../src/admin/app.ts'
import { listen } from '../../src/admin/http/listen.ts'
import { readyWithin } from '../../src/platform/redis/redis.ts'
import { readAdminSettings } from '../../src/platform/settings/settings.ts'
import { openRuntime } from '../../src/runtime.ts'
import { longestWaitMs, openConnections, type TestService, withTimeouts } from './service.ts'

export interface TestAdmin {
  url: string
  stop(): Promise<void>
}

/**
 * The admin process's pages in this process, on the stores of a service, logging to its lines.
 *
 * @param settings by their names in the environment, over defaults that suit tests.
 */
export async function startTestAdmin(
  service: Pick<TestService, 'stores' | 'runtime'>,
  settings: Record<string, string> = {},
): Promise<TestAdmin> {
  const { databaseUrl, redisUrl } = service.stores
  const read = readAdminSettings({
    DATABASE_URL: databaseUrl,
    REDIS_URL: withTimeouts(redisUrl),
    DATABASE_POOL_SIZE: '4',
    ADMIN_PORT: '0',
    ...settings,
  })
  const runtime = openRuntime('admin', read, service.runtime.log)
  if (settings.DATABASE_URL === undefined) await openConnections(runtime)
  if (settings.REDIS_URL === undefined)
    await Promise.all(runtime.shards.map(({ redis }) => readyWithin(redis, longestWaitMs)))
  const server = await listen(createAdminApp(runtime), { host: read.ADMIN_HOST, port: read.ADMIN_PORT })
  return {
    url: `http://127.0.0.1:${server.port}`,
    async stop() {
      await server.stop()
      await runtime.close()
    },
  }
}
