import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'
import { hourMs } from '../../src/core/durations.ts'
import { accept, buildAccount, textBody } from '../support/builders.ts'
import { livingWorker } from '../support/living-worker.ts'
import { serviceOfFile } from '../support/service.ts'

const service = await serviceOfFile()
await livingWorker(service, 'a')

test('a further reason to wait is one entry of the table: claims, wake-ups, permits, the breaker, metrics and pages follow it', async () => {
  const account = await buildAccount(service)
  const requestId = await accept(service, account, { ...textBody(), reference: 'nap' })
  await service.runtime.db.$client.query(
    `update sends set next_attempt_at = now() - interval '10 minutes' where request_id = $1`,
    [requestId],
  )
  const program = 'tests/workers/further-reason-program.ts'
  const given = [service.stores.databaseUrl, requestId, account.channelId, 'a']
  const { stdout } = await promisify(execFile)(process.execPath, ['--import', 'tsx', program, ...given])
  const { napping, awake } = JSON.parse(stdout)

  const isSoon = (ms: number) => ms > 0.9 * hourMs && ms <= hourMs
  const isTenMinutes = (seconds: number) => seconds >= 600 && seconds < 1200
  expect(napping).toEqual({
    claims: 0,
    dueInMs: expect.toSatisfy(isSoon),
    headInMs: [expect.toSatisfy(isSoon)],
    isBusy: false,
    due: [],
    permits: 0,
    givenUp: 0,
    oldestWaiting: { napping: expect.toSatisfy(isTenMinutes), free: 0, limited: 0, stopped: 0, scheduled: 0 },
    summary: 'Waiting: it takes a nap.',
    next: { at: expect.any(String), text: 'Its nap ends.' },
  })
  expect(awake).toMatchObject({
    claims: 1,
    dueInMs: 0,
    headInMs: [0],
    isBusy: true,
    due: [requestId],
    permits: 1,
    givenUp: 1,
    oldestWaiting: { napping: 0, free: expect.toSatisfy(isTenMinutes) },
    summary: 'Waiting in the queue for a worker.',
  })
})
