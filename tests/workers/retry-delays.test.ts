import { eq, sql } from 'drizzle-orm'
import { expect, test } from 'vitest'
import { sends } from '../../db/schema.ts'
import { beginAttempt, endAttempt, loseAttempt, rowOf } from '../support/attempts.ts'
import { accept, buildAccount, textBody } from '../support/builders.ts'
import { buildProviderChannel } from '../support/provider-channel.ts'
import { serviceOfFile } from '../support/service.ts'
import { webhookSecret } from '../support/webhook-receiver.ts'

const service = await serviceOfFile({ RETRY_DELAYS_SECONDS: '7' })
const account = await buildAccount(service)

const later = { outcome: 'retry_later', fault: 'provider', reason: 'the receiver answered 503' } as const

async function sendBy(changes: object): Promise<string> {
  const config = { url: 'https://example.com/messages', secret: webhookSecret, ...changes }
  const channelId = await buildProviderChannel(service, account.accountId, 'webhook', config)
  return await accept(service, { ...account, channelId }, textBody())
}

async function dueNow(requestId: string): Promise<void> {
  const past = sql`clock_timestamp() - interval '1 ms'`
  await service.runtime.db.update(sends).set({ nextAttemptAt: past }).where(eq(sends.requestId, requestId))
}

/** An attempt that fails for a while. @returns the delay until the next one, in seconds. */
async function fail(requestId: string): Promise<number | undefined> {
  const { wakeInMs } = await endAttempt(service, await beginAttempt(service, requestId, 'a'), later)
  await dueNow(requestId)
  return wakeInMs === undefined ? undefined : wakeInMs / 1000
}

const within = (seconds: number | undefined, delay: number) => {
  expect(seconds).toBeGreaterThanOrEqual(delay * 0.8)
  expect(seconds).toBeLessThanOrEqual(delay * 1.2)
}

test('a channel with delays of its own retries after those, and has as many attempts', async () => {
  const requestId = await sendBy({ retryDelaysSeconds: [100, 172_800] })
  within(await fail(requestId), 100)
  within(await fail(requestId), 172_800)
  expect(await fail(requestId)).toBeUndefined()
  expect(await rowOf(service, requestId)).toMatchObject({ status: 'failed', attempt: 3 })
})

test('a channel without them retries after the delays of the settings', async () => {
  const requestId = await sendBy({})
  within(await fail(requestId), 7)
  expect(await fail(requestId)).toBeUndefined()
})

test('an attempt whose worker was lost counts like the others', async () => {
  const requestId = await sendBy({ retryDelaysSeconds: [100, 172_800] })
  within(await fail(requestId), 100)
  await loseAttempt(service, requestId, 'b')
  const { status, nextAttemptAt } = await rowOf(service, requestId)
  expect(status).toBe('queued')
  within((nextAttemptAt.getTime() - Date.now()) / 1000, 172_800)
})
