import { setTimeout as sleep } from 'node:timers/promises'
import { v7 as uuidv7 } from 'uuid'
import { expect, test } from 'vitest'
import { connectDatabase } from '../../db/connection/client.ts'
import { readMedia } from '../../db/delivery/media-content.ts'
import { hourMs } from '../../src/core/durations.ts'
import { openMediaMemory } from '../../workers/sends/dispatch/media-memory.ts'
import { createDispatch } from '../../workers/sends/dispatch.ts'
import type { TimedOutcome } from '../../workers/sends/send-states.ts'
import { buildEnteredSend } from '../support/entered-sends.ts'
import { livingWorker } from '../support/living-worker.ts'
import { alikeProviders } from '../support/providers.ts'
import { serviceOfFile } from '../support/service.ts'
import { eventually } from '../support/wait.ts'

const maxBytes = 16 * 1024 * 1024
const word = 'outbound'

const service = await serviceOfFile()

/** Stores the content of a send's media. @returns the send's id. */
async function store(bytes: number): Promise<string> {
  const requestId = uuidv7()
  await service.runtime.db.$client.query(
    `insert into media (request_id, content) values ($1, convert_to(repeat($2, $3), 'utf8'))`,
    [requestId, word, bytes / word.length],
  )
  return requestId
}

/** A worker whose provider answers when the test lets it. By default it waits an hour for memory, so that a slow machine ends no wait. */
async function startDispatching(memory = openMediaMemory(hourMs)) {
  const called: string[] = []
  const waiting: (() => void)[] = []
  const provider = alikeProviders({
    async send({ requestId, mediaContent }) {
      expect(String(mediaContent)).toBe(word)
      called.push(requestId)
      await new Promise<void>((resolve) => waiting.push(resolve))
      return { outcome: 'sent' }
    },
  })
  const settings = { ...service.runtime.settings, PROVIDER_TIMEOUT_SECONDS: hourMs / 1000 }
  const heartbeat = await livingWorker(service, 'a')
  const dispatch = createDispatch({ ...service.runtime, settings }, provider, heartbeat, memory)
  return {
    called,
    answerNext: () => waiting.shift()?.(),
    async dispatch(accountId: string): Promise<{ requestId: string; attempt: Promise<TimedOutcome> }> {
      // The size that was recorded counts, so that short content does here: it is read at once on a slow machine, too.
      const requestId = await store(word.length)
      const media = { mediaType: 'document', sizeBytes: maxBytes } as const
      const send = buildEnteredSend(service, { requestId, accountId, message: { type: 'media', media } })
      return { requestId, attempt: dispatch(send) }
    },
  }
}

test('content is in memory from before it is loaded until its call has ended: at most 64 MiB of an account, 128 MiB of all', async () => {
  const { called, answerNext, dispatch } = await startDispatching()
  const [first, second, third] = [uuidv7(), uuidv7(), uuidv7()]
  const attempts: Promise<TimedOutcome>[] = []
  const begin = async (accountId: string, count: number, calls: number) => {
    for (let i = 0; i < count; i++) attempts.push((await dispatch(accountId)).attempt)
    await eventually(`${calls} calls`, async () => called.length === calls)
    await sleep(200)
    expect(called).toHaveLength(calls)
  }
  await begin(first, 6, 4)
  await begin(second, 6, 8)
  const { requestId, attempt } = await dispatch(third)
  await sleep(200)
  expect(called).toHaveLength(8)
  // Whoever has the least in memory comes next.
  answerNext()
  await eventually('its call', async () => called.at(-1) === requestId)
  const answering = setInterval(answerNext, 20)
  for (const { outcome } of await Promise.all([...attempts, attempt])) expect(outcome.outcome).toBe('sent')
  clearInterval(answering)
})

test('a send that finds no memory in time goes back to the queue', async () => {
  const { called, answerNext, dispatch } = await startDispatching(openMediaMemory(300))
  const accountId = uuidv7()
  const held: Promise<TimedOutcome>[] = []
  for (let i = 0; i < 4; i++) held.push((await dispatch(accountId)).attempt)
  await eventually('as much as fits', async () => called.length === 4)
  const { attempt } = await dispatch(accountId)
  const { outcome } = await attempt
  expect(outcome).toEqual({
    outcome: 'not_called',
    reason: "the worker's memory budget for media is used up",
    delayMs: expect.toSatisfy((delayMs: number) => delayMs >= 500 && delayMs <= 1000),
  })
  for (let i = 0; i < 4; i++) answerNext()
  await Promise.all(held)
})

test.each([0, word.length, 512 * 1024 - word.length, 512 * 1024, maxBytes])(
  'content of %i bytes is read as it was stored',
  async (sizeBytes) => {
    const content = await readMedia(service.runtime.db, { requestId: await store(sizeBytes), sizeBytes })
    expect(content?.equals(Buffer.alloc(sizeBytes, word))).toBe(true)
  },
)

test.each([1, maxBytes])('content of %i bytes that was removed is not there', async (sizeBytes) => {
  expect(await readMedia(service.runtime.db, { requestId: uuidv7(), sizeBytes })).toBeUndefined()
})

test('the connection that has read large content is used again, and its time-out is over', async () => {
  const db = connectDatabase(service.runtime.settings.DATABASE_URL, {
    poolSize: 1,
    queryTimeoutMs: 60_000,
    onConnectionLost: () => {},
  })
  const requestId = await store(maxBytes)
  const backend = async () => (await db.$client.query('select pg_backend_pid() as pid')).rows[0]?.pid
  const timers = () => process.getActiveResourcesInfo().filter((resource) => resource === 'Timeout').length
  const before = { backend: await backend(), timers: timers() }
  await readMedia(db, { requestId, sizeBytes: maxBytes })
  expect(await backend()).toBe(before.backend)
  await eventually('its time-out is over', async () => timers() <= before.timers, 5_000)
  await db.$client.end()
})
