import { v7 as uuidv7 } from 'uuid'
import { expect, test } from 'vitest'
import { hourMs } from '../../src/core/durations.ts'
import { mediaBytesInFlight, openMediaMemory } from '../../workers/sends/dispatch/media-memory.ts'
import { createDispatch } from '../../workers/sends/dispatch.ts'
import { buildEnteredSend } from '../support/entered-sends.ts'
import { livingWorker } from '../support/living-worker.ts'
import { alikeProviders } from '../support/providers.ts'
import { serviceOfFile } from '../support/service.ts'

const service = await serviceOfFile()

test('of 200 mails with files of 8 MiB each at once, no more than 128 MiB are in memory, and each is sent', async () => {
  const fileBytes = 8 * 1024 * 1024
  let held = 0
  let most = 0
  const memory = openMediaMemory(hourMs)
  const provider = alikeProviders({
    async send() {
      held += fileBytes
      most = Math.max(most, held, memory.usedBytes)
      // Others may begin meanwhile.
      await new Promise((resolve) => setImmediate(resolve))
      held -= fileBytes
      return { outcome: 'sent' }
    },
  })
  const settings = { ...service.runtime.settings, PROVIDER_TIMEOUT_SECONDS: hourMs / 1000 }
  const heartbeat = await livingWorker(service, 'a')
  const dispatch = createDispatch({ ...service.runtime, settings }, provider, heartbeat, memory)
  const attachments = [1, 2].map((n) => ({ filename: `${n}.bin`, sizeBytes: fileBytes / 2 }))
  const accounts = Array.from({ length: 5 }, () => uuidv7())
  const ids = Array.from({ length: 200 }, () => uuidv7())
  // The size that was recorded counts, so that short content does here.
  for (const requestId of ids)
    await service.runtime.db.$client.query(`insert into media (request_id, content) values ($1, 'a')`, [
      requestId,
    ])
  const message = { type: 'text', text: { value: 'Hello' }, email: { attachments } } as const
  const sends = ids.map((requestId, n) =>
    buildEnteredSend(service, { requestId, accountId: accounts[n % 5] ?? '', message }),
  )
  const outcomes = await Promise.all(sends.map((send) => dispatch(send)))
  expect(outcomes.map(({ outcome }) => outcome.outcome)).toEqual(sends.map(() => 'sent'))
  expect(most).toBeLessThanOrEqual(mediaBytesInFlight)
  expect(memory.usedBytes).toBe(0)
})
