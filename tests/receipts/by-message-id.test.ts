import { expect, test } from 'vitest'
import type { AttemptOutcome } from '../../src/core/sends/outcome.ts'
import {
  attemptedSend,
  beginAttempt,
  endAttempt,
  loseAttempt,
  namesOf,
  sweepOnce,
  timelineOf,
} from '../support/attempts.ts'
import { accept, buildAccount, textBody } from '../support/builders.ts'
import { buildProviderChannel } from '../support/provider-channel.ts'
import { countsSince } from '../support/scrape.ts'
import { serviceOfFile } from '../support/service.ts'

const service = await serviceOfFile()
const { db, metrics } = service.runtime
const counts = countsSince(metrics.receipts, 'result')

const sentAs = (providerMessageId: string): AttemptOutcome => ({
  ...{ outcome: 'sent', providerStatus: 201, providerMessageId },
})

/** A channel of a vendor whose reports have its own id alone. */
async function buildReporting() {
  const account = await buildAccount(service)
  const config = { username: 'acme', apiKey: 'made-up-key', receiptsToken: 'made-up-token' }
  const channelId = await buildProviderChannel(service, account.accountId, 'africas-talking', config)
  return {
    account: { ...account, channelId },
    report: async (...reports: { id: string; status: string }[]) => {
      for (const report of reports) {
        const { status } = await fetch(`${service.url}/receipts/${channelId}?token=made-up-token`, {
          method: 'POST',
          body: new URLSearchParams(report),
        })
        expect(status).toBe(200)
      }
    },
  }
}

const rowsIn = async (table: string, channelId: string) =>
  (await db.$client.query(`select * from ${table} where channel_id = $1`, [channelId])).rows

test("a receipt finds its send by the provider's id of the message, once", async () => {
  const { account, report } = await buildReporting()
  const requestId = await attemptedSend(service, account, sentAs('ATPid_1'))
  await counts()
  await report({ id: 'ATPid_1', status: 'Sent' }, { id: 'ATPid_1', status: 'Success' })
  await report({ id: 'ATPid_1', status: 'Success' })
  const timeline = await timelineOf(service, requestId)
  expect(timeline).toMatchObject({ delivery: 'delivered' })
  expect(namesOf(timeline).slice(-3)).toEqual(['sent', 'receipt', 'delivered'])
  expect(await counts()).toEqual({ recorded: 1, applied: 1, duplicate: 1 })
  expect(await rowsIn('early_receipts', account.channelId)).toEqual([])
})

test('a receipt that comes before the answer to the call is recorded after it', async () => {
  const { account, report } = await buildReporting()
  const requestId = await accept(service, account, textBody())
  const send = await beginAttempt(service, requestId, 'first')
  await report({ id: 'ATPid_2', status: 'Success' })
  await sweepOnce(service)
  expect(await timelineOf(service, requestId)).toMatchObject({ status: 'sending', delivery: null })
  await endAttempt(service, send, sentAs('ATPid_2'))
  await sweepOnce(service)
  expect(await timelineOf(service, requestId)).toMatchObject({ status: 'sent', delivery: 'delivered' })
  expect(await rowsIn('early_receipts', account.channelId)).toEqual([])
})

test('a receipt finds the send of an outcome that came late', async () => {
  const { account, report } = await buildReporting()
  const requestId = await accept(service, account, textBody())
  const send = await loseAttempt(service, requestId, 'dead')
  await endAttempt(service, send, sentAs('ATPid_3'))
  await report({ id: 'ATPid_3', status: 'Failed' })
  expect(await timelineOf(service, requestId)).toMatchObject({ status: 'sent', delivery: 'undelivered' })
})

test('an id of another channel finds nothing; what finds no send within an hour is dropped', async () => {
  const [one, other] = [await buildReporting(), await buildReporting()]
  const requestId = await attemptedSend(service, one.account, sentAs('ATPid_4'))
  await counts()
  await other.report({ id: 'ATPid_4', status: 'Success' })
  expect(await counts()).toEqual({ early: 1 })
  await sweepOnce(service)
  expect(await timelineOf(service, requestId)).toMatchObject({ delivery: null })
  expect(await rowsIn('early_receipts', other.account.channelId)).toHaveLength(1)
  await db.$client.query("update early_receipts set received_at = now() - interval '61 minutes'")
  await sweepOnce(service)
  expect(await rowsIn('early_receipts', other.account.channelId)).toEqual([])
})

test("of the provider's ids only a hash is kept; other providers keep none", async () => {
  const { account } = await buildReporting()
  const requestId = await attemptedSend(service, account, sentAs('ATPid_+4915112345678'))
  const kept = await rowsIn('message_ids', account.channelId)
  expect(kept).toMatchObject([{ request_id: requestId }])
  expect(JSON.stringify(kept)).not.toContain('4915112345678')
  const byRequestId = await buildAccount(service)
  await attemptedSend(service, byRequestId, sentAs('m-1'))
  expect(await rowsIn('message_ids', byRequestId.channelId)).toEqual([])
})
