import type pg from 'pg'
import { expect, onTestFinished, test } from 'vitest'
import type { Database } from '../../db/connection/client.ts'
import { recordReceipts } from '../../db/receipts/receipts.ts'
import type { ReceiptKind } from '../../src/core/receipts/receipt.ts'
import type { AttemptOutcome } from '../../src/core/sends/outcome.ts'
import { attemptedSend, beginAttempt, endAttempt, namesOf, timelineOf } from '../support/attempts.ts'
import { accept, buildAccount, textBody } from '../support/builders.ts'
import { buildReceipt } from '../support/receipts.ts'
import { serviceOfFile } from '../support/service.ts'
import { waitingForLocks } from '../support/stores.ts'
import { eventually } from '../support/wait.ts'

const service = await serviceOfFile()
const account = await buildAccount(service)

const sent: AttemptOutcome = { outcome: 'sent', providerMessageId: 'wamid.1', providerStatus: 200 }

/** A transaction of another process, which holds its locks until it is committed. */
async function otherProcess(): Promise<{ db: Database; commit: () => Promise<void> }> {
  const client: pg.PoolClient = await service.runtime.db.$client.connect()
  onTestFinished(() => client.release())
  await client.query('begin')
  const db = { $client: client } as unknown as Database
  return { db, commit: async () => void (await client.query('commit')) }
}

const record = (db: Database, requestId: string, kind: ReceiptKind) =>
  recordReceipts(db, [buildReceipt(requestId, account.channelId, kind)])

const waiting = async () => (await service.runtime.db.$client.query(waitingForLocks)).rowCount ?? 0
const isWaiting = (statements = 1) =>
  eventually('statements that wait for a lock', async () => (await waiting()) >= statements)

test('the same receipt, by two APIs at the same moment, is told once', async () => {
  const requestId = await attemptedSend(service, account, sent)
  const other = await otherProcess()
  await record(other.db, requestId, 'delivered')
  const second = record(service.runtime.db, requestId, 'delivered')
  await isWaiting()
  await other.commit()
  expect(await second).toMatchObject([{ result: 'duplicate' }])
  expect(namesOf(await timelineOf(service, requestId)).filter((name) => name === 'delivered')).toHaveLength(1)
})

test('of two receipts at the same moment, the higher one stays', async () => {
  const requestId = await attemptedSend(service, account, sent)
  const other = await otherProcess()
  await record(other.db, requestId, 'read')
  const second = record(service.runtime.db, requestId, 'delivered')
  await isWaiting()
  await other.commit()
  expect(await second).toMatchObject([{ result: 'recorded' }])
  expect(await timelineOf(service, requestId)).toMatchObject({ delivery: 'read' })
})

test('a receipt that is being kept while the outcome comes is not lost', async () => {
  const requestId = await accept(service, account, textBody())
  const send = await beginAttempt(service, requestId, 'first')
  const other = await otherProcess()
  expect(await record(other.db, requestId, 'delivered')).toMatchObject([{ result: 'early' }])
  const ending = endAttempt(service, send, sent)
  await isWaiting()
  await other.commit()
  await ending
  expect(await timelineOf(service, requestId)).toMatchObject({ status: 'sent', delivery: 'delivered' })
})

test('a receipt that comes while the outcome is being recorded is applied', async () => {
  const requestId = await accept(service, account, textBody())
  const send = await beginAttempt(service, requestId, 'second')
  const other = await otherProcess()
  await other.db.$client.query('select from sends where request_id = $1 for no key update', [requestId])
  const ending = endAttempt(service, send, sent)
  await isWaiting()
  const receipt = record(service.runtime.db, requestId, 'delivered')
  await isWaiting(2)
  await other.commit()
  await Promise.all([ending, receipt])
  expect(await timelineOf(service, requestId)).toMatchObject({ status: 'sent', delivery: 'delivered' })
})
