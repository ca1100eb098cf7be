import { afterAll, beforeAll, expect, test } from 'vitest'
import { type Reaper, startReaper } from '../../../src/dev/embedded/index.ts'
import { startService } from '../../../src/dev/service-process.ts'
import { holdInserts, newKey, sendsOf } from '../../api/keyed.ts'
import { type BreakableServers, startBreakableServers } from '../../support/breakable-servers.ts'
import { buildAccount, textBody } from '../../support/builders.ts'
import { inSeconds, postBatch, scheduledOf } from '../../support/later.ts'
import { startTestService, type TestService, testSecrets } from '../../support/service.ts'
import { eventually } from '../../support/wait.ts'

let reaper: Reaper
let servers: BreakableServers
let service: TestService

beforeAll(async () => {
  reaper = startReaper()
  servers = await startBreakableServers(reaper)
  service = await startTestService({}, servers)
})
afterAll(async () => {
  await service?.stop()
  await servers?.stop()
  await reaper?.close()
})

async function startApiProcess() {
  const environment = {
    ...testSecrets,
    DATABASE_URL: servers.databaseUrl,
    REDIS_URL: servers.redisUrl,
    HOST: '127.0.0.1',
    PORT: '0',
    METRICS_PORT: '0',
  }
  const api = await startService({ entry: 'src/server.ts', readyEvent: 'listening', environment, reaper })
  return { api, url: `http://127.0.0.1:${api.ready.port}` }
}

test('the repeat of a batch whose API was killed between the commit and the answer gets the 100 sends of that batch', async () => {
  const account = await buildAccount(service)
  const { api, url } = await startApiProcess()
  const key = { 'Idempotency-Key': newKey() }
  const later = { sendAt: inSeconds(3600) }
  const bodies = Array.from({ length: 100 }, (_, n) => ({ ...textBody(`${n}`), ...(n === 99 && later) }))
  const hold = await holdInserts(service)
  const first = postBatch({ url }, account, bodies, key).catch(() => 'no answer')
  const waits = async () => {
    const { rows } = await service.runtime.db.$client.query('select from pg_locks where not granted limit 1')
    return rows.length > 0
  }
  await eventually('the batch waits to be recorded', waits)
  // From now on it can't be added to the queue, so that its answer waits.
  servers.freezeRedis()
  await hold.release()
  await eventually('it is recorded', async () => (await sendsOf(service, account)).length === 99)
  api.child.kill('SIGKILL')
  servers.thawRedis()
  expect(await first).toBe('no answer')

  const recorded = (await sendsOf(service, account)).map(({ requestId }) => requestId)
  const scheduled = (await scheduledOf(service, account)).map(({ requestId }) => requestId)
  for (let repeat = 0; repeat < 2; repeat++) {
    const { status, headers, body } = await postBatch(service, account, bodies, key)
    expect([status, headers.get('Idempotent-Replayed')]).toEqual([202, 'true'])
    const ids = body.messages.map(({ requestId }: { requestId: string }) => requestId)
    expect(ids).toEqual([...recorded, ...scheduled])
  }
  expect(await sendsOf(service, account)).toHaveLength(99)
  expect(await scheduledOf(service, account)).toHaveLength(1)
  await api.stop()
})
