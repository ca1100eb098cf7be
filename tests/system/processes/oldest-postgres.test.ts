import pg from 'pg'
import { expect, type TestContext, test } from 'vitest'
import { connectDatabase } from '../../../db/connection/client.ts'
import { oldestPostgres } from '../../../db/connection/session.ts'
import { migrateDatabase } from '../../../db/migrate.ts'
import { type Embedded, startPostgres, startReaper } from '../../../src/dev/embedded/index.ts'
import { temporaryFolder } from '../../../src/dev/embedded/temporary-folder.ts'
import { accept, buildAccount, textBody } from '../../support/builders.ts'
import { buildEndpoint } from '../../support/endpoints.ts'
import { oldestRelease, tooOldRelease } from '../../support/oldest-postgres.ts'
import { finishedTimeline, startTestService } from '../../support/service.ts'
import { freshRedis } from '../../support/stores.ts'

test('the oldest PostgreSQL that is taken migrates, and a send goes through it', async ({
  onTestFinished,
}) => {
  const postgres = await startRelease(oldestRelease, onTestFinished)
  await migrateDatabase(postgres.url)
  await migrateDatabase(postgres.url)
  const client = new pg.Client({ connectionString: postgres.url })
  await client.connect()
  const { rows } = await client.query<{ version: string }>(
    `select current_setting('server_version') as version`,
  )
  await client.end()
  expect(Number.parseInt(rows[0]?.version ?? '', 10)).toBe(oldestPostgres)

  const service = await startTestService({}, { databaseUrl: postgres.url, redisUrl: await freshRedis() })
  onTestFinished(() => service.stop())
  await service.startWorker()
  const account = await buildAccount(service)
  await buildEndpoint(service, account.accountId, 'https://example.com/callbacks')
  const requestId = await accept(service, account, textBody())
  expect(await finishedTimeline(service, requestId, account.apiKey)).toMatchObject({ status: 'sent' })
  expect((await fetch(`${service.url}/readyz`)).status).toBe(200)
})

test('an older one is refused, by migrate and by each connection, which name the version to use', async ({
  onTestFinished,
}) => {
  const { url } = await startRelease(tooOldRelease, onTestFinished)
  const fault = /PostgreSQL 12 is too old; use PostgreSQL 13 or later/
  await expect(migrateDatabase(url)).rejects.toThrow(fault)
  const options = { poolSize: 1, queryTimeoutMs: 10_000, onConnectionLost: () => {} }
  const { $client: pool } = connectDatabase(url, options)
  onTestFinished(() => pool.end())
  await expect(pool.query('select 1')).rejects.toThrow(fault)
})

async function startRelease(
  release: typeof oldestRelease,
  onTestFinished: TestContext['onTestFinished'],
): Promise<Embedded> {
  const folder = await temporaryFolder()
  const reaper = startReaper()
  onTestFinished(() => reaper.close())
  const postgres = await startPostgres({ folder, reaper, folderToRemove: folder }, release)
  onTestFinished(() => postgres.stop())
  return postgres
}
