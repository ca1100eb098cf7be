import { getTableName, isTable } from 'drizzle-orm'
import * as schema from '../../db/schema.ts'
import { startTestService, type TestService } from './service.ts'

const tables = Object.values(schema).filter(isTable).map(getTableName)

/** Those that no test uses at the moment: to start one costs as much as many a test. */
const idle: TestService[] = []

/**
 * A service that no other test uses until this one has ended, with empty stores. The test starts its workers; they end with
 * it.
 */
export async function borrowService(test: {
  onTestFinished(stop: () => Promise<void>): void
}): Promise<TestService> {
  const service = idle.pop() ?? (await startTestService({ ALLOWED_PRIVATE_NETWORKS: '127.0.0.0/8' }))
  test.onTestFinished(async () => {
    await service.stopWorkers()
    await emptyStores(service)
    idle.push(service)
  })
  return service
}

async function emptyStores({ runtime, logs }: TestService): Promise<void> {
  await runtime.db.$client.query(`truncate ${tables} restart identity`)
  await runtime.redis.flushdb()
  logs.splice(0)
}
