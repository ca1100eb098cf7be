import { connect, createServer } from 'node:net'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { migrateDatabase } from '../../db/migrate.ts'
import { temporaryFolder } from '../../src/dev/embedded/temporary-folder.ts'
import { accept, buildAccount, textBody } from '../support/builders.ts'
import { runCli } from '../support/cli.ts'
import { finishedTimeline, startTestService } from '../support/service.ts'
import { freshStores } from '../support/stores.ts'

test('migrate, the API, a worker and the CLI reach PostgreSQL through a Unix socket', async ({
  onTestFinished,
}) => {
  const stores = await freshStores()
  const { port, hostname, username, pathname } = new URL(stores.databaseUrl)
  const folder = await temporaryFolder()
  const sockets = createServer((socket) => {
    const server = connect(Number(port), hostname)
    for (const [from, to] of [
      [socket, server],
      [server, socket],
    ] as const) {
      from.on('error', () => to.destroy())
      from.pipe(to)
    }
  })
  await new Promise<void>((resolve) => sockets.listen(join(folder, '.s.PGSQL.5432'), resolve))
  onTestFinished(() => void sockets.close())
  const own = { ...stores, databaseUrl: `postgres://${username}:p@${pathname}?host=${folder}` }
  await migrateDatabase(own.databaseUrl)
  const service = await startTestService({}, own)
  onTestFinished(() => service.stop())
  await service.startWorker()
  const account = await buildAccount(service)
  const requestId = await accept(service, account, textBody())
  expect(await finishedTimeline(service, requestId, account.apiKey)).toMatchObject({ status: 'sent' })
  expect(await runCli({ stores: own }, 'trace', requestId)).toMatchObject({ status: 0 })
})
