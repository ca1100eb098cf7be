import { v7 as uuidv7 } from 'uuid'
import { expect, test } from 'vitest'
import { holdChannel, resumeChannel } from '../../db/accounts/channels.ts'
import { recordReceipts } from '../../db/receipts/receipts.ts'
import { suppressionChecks } from '../../db/schema.ts'
import { replaySend } from '../../db/sends/replays.ts'
import { runSuppressionChecks } from '../../db/suppression/checks.ts'
import { addSuppression, listSuppressions, removeSuppression } from '../../db/suppression/entries.ts'
import type { ReceiptKind } from '../../src/core/receipts/receipt.ts'
import { causes, type SuppressingSign } from '../../src/core/suppression/suppression.ts'
import {
  attemptedSend,
  beginAttempt,
  namesOf,
  received,
  rowOf,
  sweepOnce,
  timelineOf,
} from '../support/attempts.ts'
import {
  type Account,
  accept,
  buildAccount,
  buildChannel,
  newContact,
  textBody,
} from '../support/builders.ts'
import { runCli } from '../support/cli.ts'
import { buildEndpoint, callbacksOf } from '../support/endpoints.ts'
import { acceptAtOnce } from '../support/later.ts'
import { buildProviderChannel } from '../support/provider-channel.ts'
import { buildReceipt, sendReport, whatsAppConfig, whatsAppReport } from '../support/receipts.ts'
import { countsSince } from '../support/scrape.ts'
import { finishedTimeline, serviceOfFile, testSuppressionKey } from '../support/service.ts'
import { eventually } from '../support/wait.ts'

const service = await serviceOfFile({ RETRY_DELAYS_SECONDS: '600,600' })
const { db } = service.runtime

const contactOf = (value: string) => ({ type: 'email', value }) as const
const anyone = () => `${uuidv7()}@example.com`

const suppress = async (by: Account, value: string, channelId: string | null = null) => {
  const suppressed = { accountId: by.accountId, contact: contactOf(value), channelId }
  return (await addSuppression(db, suppressed, null, testSuppressionKey)).entry
}

/** As if the entry were old. */
const checksAreOver = () => db.delete(suppressionChecks)

/** No public address, so that it is never called. */
const unreachableUrl = 'https://127.0.0.1/callbacks'

const to = (value: string) => textBody('Hello', value)

/** Ends as suppressed, with no attempt since. */
async function expectSuppressed(by: Account, requestId: string, attempts = 0): Promise<void> {
  const timeline = await finishedTimeline(service, requestId, by.apiKey)
  expect(timeline).toMatchObject({ status: 'failed', attempts })
  expect(timeline.events.filter(({ event }) => event === 'failed').at(-1)?.reason).toBe(
    causes.manual.storedReason,
  )
  const lines = service.logsOf(requestId).filter(({ event }) => event === 'failed')
  expect(lines.map(({ reason }) => reason)).toEqual([causes.manual.storedReason])
}

test('a send to a suppressed contact is accepted, in a batch too, and fails without a call; its endpoint is told so', async () => {
  const account = await buildAccount(service)
  const endpoint = await buildEndpoint(service, account.accountId, unreachableUrl, ['message.failed'])
  const contact = anyone()
  await suppress(account, contact)
  const worker = await service.startWorker()
  const suppressed = await accept(service, account, to(contact))
  const [batched = '', other = ''] = await acceptAtOnce(service, account, [to(contact), to(anyone())])
  for (const requestId of [suppressed, batched]) await expectSuppressed(account, requestId)
  expect((await finishedTimeline(service, other, account.apiKey)).status).toBe('sent')
  await worker.stop()
  for (const requestId of [suppressed, batched]) {
    expect(await received(service, requestId)).toEqual([])
    expect(namesOf(await timelineOf(service, requestId))).toEqual(['accepted', 'failed'])
  }
  expect(
    (await callbacksOf(service, endpoint)).map(({ requestId, type, sequence }) => [
      requestId,
      type,
      sequence,
    ]),
  ).toEqual([
    [suppressed, 'message.failed', 1],
    [batched, 'message.failed', 1],
  ])
})

test('an entry is for its account alone, and with a channel for that channel alone', async () => {
  const [account, foreign] = [await buildAccount(service), await buildAccount(service)]
  const otherChannel = { ...account, channelId: await buildChannel(service, account.accountId) }
  const contact = anyone()
  await suppress(account, contact, account.channelId)
  const worker = await service.startWorker()
  await expectSuppressed(account, await accept(service, account, to(contact)))
  for (const by of [otherChannel, foreign]) {
    const requestId = await accept(service, by, to(contact))
    expect((await finishedTimeline(service, requestId, by.apiKey)).status).toBe('sent')
  }
  await worker.stop()
})

test('a send that waited before the entry fails, whatever it waits for: a held channel, a retry, its time, its turn', async () => {
  const account = await buildAccount(service)
  const held = { ...account, channelId: await buildChannel(service, account.accountId) }
  await holdChannel(db, held.channelId, 'held')
  const worker = await service.startWorker()
  const [contact, retried] = [anyone(), 'retry@example.com']
  const tried = await accept(service, account, to(retried))
  await eventually('the retry is scheduled', async () =>
    service.logsOf(tried).some(({ event }) => event === 'retry_scheduled'),
  )
  const waiting = [
    await accept(service, held, to(contact)),
    await accept(service, held, to(contact)),
    await accept(service, account, {
      ...to(contact),
      sendAt: new Date(Date.now() + 3_600_000).toISOString(),
    }),
  ]
  await suppress(account, contact)
  await suppress(account, retried)
  for (const requestId of waiting) await expectSuppressed(account, requestId)
  await expectSuppressed(account, tried, 1)
  await resumeChannel(db, held.channelId)
  await worker.stop()
  for (const requestId of waiting) expect(await received(service, requestId)).toEqual([])
})

test('a send that is accepted or scheduled later for a suppressed contact fails on a held channel too', async () => {
  const account = await buildAccount(service)
  await holdChannel(db, account.channelId, 'held')
  const contact = anyone()
  await suppress(account, contact)
  await checksAreOver()
  const worker = await service.startWorker()
  await expectSuppressed(account, await accept(service, account, to(contact)))
  const sendAt = new Date(Date.now() + 3_600_000).toISOString()
  await expectSuppressed(account, await accept(service, account, { ...to(contact), sendAt }))
  await worker.stop()
})

test('a replay to a suppressed contact fails again, without a call', async () => {
  const account = await buildAccount(service)
  const contact = 'rejected@example.com'
  const worker = await service.startWorker()
  const requestId = await accept(service, account, to(contact))
  expect((await finishedTimeline(service, requestId, account.apiKey)).status).toBe('failed')
  await holdChannel(db, account.channelId, 'held')
  await suppress(account, contact)
  await checksAreOver()
  await replaySend(db, requestId)
  await eventually('it failed again', async () => (await rowOf(service, requestId)).status === 'failed')
  await worker.stop()
  const { failure, attempt } = await rowOf(service, requestId)
  expect({ failure, attempt }).toEqual({ failure: causes.manual.storedReason, attempt: 1 })
})

test('the sends behind a suppressed one go on, and after the removal the contact gets sends again', async () => {
  const account = await buildAccount(service)
  const contact = anyone()
  const { suppressionId } = await suppress(account, contact, account.channelId)
  const worker = await service.startWorker()
  await expectSuppressed(account, await accept(service, account, to(contact)))
  await removeSuppression(db, account.accountId, suppressionId)
  const requestId = await accept(service, account, to(contact))
  expect((await finishedTimeline(service, requestId, account.apiKey)).status).toBe('sent')
  await worker.stop()
})

test('the same entry again is the entry that is there', async () => {
  const account = await buildAccount(service)
  const contact = anyone()
  const all = await Promise.all(Array.from({ length: 8 }, () => suppress(account, contact)))
  expect(new Set(all.map(({ suppressionId }) => suppressionId)).size).toBe(1)
})

test('an erased contact goes on to be suppressed, and no row has its address', async () => {
  const account = await buildAccount(service)
  const value = anyone()
  const { suppressionId } = await suppress(account, value)
  const { status } = await runCli(
    service,
    'contact',
    'erase',
    '--account',
    account.accountId,
    '--contact',
    value,
  )
  expect(status).toBe(0)
  const stored = await db.$client.query(
    'select s::text as row from suppressions s union all select c::text from suppression_checks c',
  )
  expect(stored.rows.map(({ row }) => row).join()).not.toContain(value)
  const [listed] = await listSuppressions(db, account.accountId, { limit: 1 })
  expect(listed).toMatchObject({ suppressionId, contactValue: null, reason: null })
  expect((await suppress(account, value)).suppressionId).toBe(suppressionId)

  const worker = await service.startWorker()
  await expectSuppressed(account, await accept(service, account, to(value)))
  const others = await accept(service, await buildAccount(service), to(value))
  await eventually('the other account sends', async () => (await rowOf(service, others)).status === 'sent')
  await worker.stop()
})

/** A send that its provider has accepted, and a receipt about it. */
async function reported(
  by: Account,
  kind: ReceiptKind,
  suppresses: SuppressingSign | null,
  contact = anyone(),
) {
  const requestId = await attemptedSend(service, by, { outcome: 'sent' }, to(contact))
  const receipt = { ...buildReceipt(requestId, by.channelId, kind), suppresses }
  await recordReceipts(db, [receipt])
  return { requestId, receipt }
}

const causesOf = async ({ accountId }: Account) =>
  (await listSuppressions(db, accountId, { limit: 100 })).map(({ cause, channelId, requestId }) => ({
    cause,
    channelId,
    requestId,
  }))

test('a receipt of a bounce, a complaint or an opt-out suppresses its contact once: an opt-out for its channel alone', async () => {
  const account = await buildAccount(service)
  const bounced = await reported(account, 'undelivered', 'bounce')
  const complained = await reported(account, 'complained', 'complaint')
  const left = await reported(account, 'undelivered', 'opt_out')
  await reported(account, 'undelivered', null)
  expect(await causesOf(account)).toEqual([
    { cause: 'bounce', channelId: null, requestId: bounced.requestId },
    { cause: 'complaint', channelId: null, requestId: complained.requestId },
    { cause: 'opt_out', channelId: account.channelId, requestId: left.requestId },
  ])
  const [first] = await listSuppressions(db, account.accountId, { limit: 1 })
  await removeSuppression(db, account.accountId, first?.suppressionId ?? '')
  await recordReceipts(db, [bounced.receipt])
  expect(await causesOf(account)).toHaveLength(2)
})

test('a phone that one provider cannot reach is suppressed for its channel alone, an invalid number for all', async () => {
  const account = await buildAccount(service)
  const unknown = await reported(account, 'undelivered', 'bounce', newContact())
  const invalid = await reported(account, 'undelivered', 'invalid_contact', newContact())
  expect(await causesOf(account)).toEqual([
    { cause: 'bounce', channelId: account.channelId, requestId: unknown.requestId },
    { cause: 'bounce', channelId: null, requestId: invalid.requestId },
  ])
})

test('a complaint changes neither status nor delivery, and is in the timeline and a callback', async () => {
  const account = await buildAccount(service)
  const endpoint = await buildEndpoint(service, account.accountId, 'https://example.com/callbacks')
  const { requestId } = await reported(account, 'delivered', null)
  await recordReceipts(db, [
    { ...buildReceipt(requestId, account.channelId, 'complained'), suppresses: 'complaint' },
  ])
  const timeline = await timelineOf(service, requestId)
  expect(timeline).toMatchObject({ status: 'sent', delivery: 'delivered' })
  expect(namesOf(timeline).slice(-2)).toEqual(['delivered', 'complained'])
  const callbacks = await callbacksOf(service, endpoint)
  expect(
    callbacks.map(({ type, sequence, status, delivery }) => ({ type, sequence, status, delivery })),
  ).toEqual([
    { type: 'message.sent', sequence: 1, status: null, delivery: null },
    { type: 'message.delivered', sequence: 2, status: null, delivery: null },
    { type: 'message.complained', sequence: 3, status: 'sent', delivery: 'delivered' },
  ])
})

test('what providers report of contacts is counted once, and the sends that fail for it, by cause', async () => {
  const { contactsRefused, suppressed } = service.runtime.metrics
  const refusals = countsSince(contactsRefused, 'provider', 'cause')
  const failures = countsSince(suppressed, 'cause')
  const owner = await buildAccount(service)
  const channelId = await buildProviderChannel(service, owner.accountId, 'whatsapp-cloud', whatsAppConfig)
  const account = { ...owner, channelId }
  const contact = newContact()
  const requestId = await attemptedSend(service, account, { outcome: 'sent' }, to(contact))
  const bounced = newContact()
  const noSuch = { outcome: 'rejected', fault: 'recipient', reason: 'unknown', suppresses: 'bounce' } as const
  await refusals()
  for (let time = 0; time < 2; time++)
    await sendReport(whatsAppReport(service, channelId, [{ requestId, kind: 'undelivered', code: 131050 }]))
  expect(await refusals()).toEqual({ 'whatsapp-cloud opt_out': 1 })
  await attemptedSend(service, account, noSuch, to(bounced))
  expect(await refusals()).toEqual({ 'whatsapp-cloud bounce': 1 })
  await failures()
  for (const value of [contact, bounced]) {
    const next = await accept(service, account, to(value))
    await expect(beginAttempt(service, next, 'next')).rejects.toThrow('could not claim')
  }
  expect(await failures()).toEqual({ opt_out: 1, bounce: 1 })
  const sendAt = new Date(Date.now() + 3_600_000).toISOString()
  const later = anyone()
  await accept(service, owner, { ...to(later), sendAt })
  await suppress(owner, later)
  await sweepOnce(service)
  expect(await failures()).toEqual({ manual: 1 })
})

test('a channel suppresses only after the causes that it is set to', async () => {
  const account = await buildAccount(service)
  const set = (causes: string) =>
    runCli(service, 'channel', 'update', account.channelId, '--auto-suppress', causes)
  expect(await set('none')).toMatchObject({ status: 0, stderr: '' })
  await reported(account, 'undelivered', 'bounce')
  expect(await set('complaint')).toMatchObject({ status: 0 })
  await reported(account, 'undelivered', 'opt_out')
  await reported(account, 'complained', 'complaint')
  expect((await causesOf(account)).map(({ cause }) => cause)).toEqual(['complaint'])
  expect(await set('all')).toMatchObject({ status: 0 })
  await reported(account, 'undelivered', 'bounce')
  expect((await causesOf(account)).map(({ cause }) => cause)).toEqual(['complaint', 'bounce'])
  expect(await set('spam')).toMatchObject({
    status: 64,
    stderr: expect.stringContaining('bounce,complaint,opt_out'),
  })
})

test('a refusal that says that there is no such contact suppresses it before the next send', async () => {
  const account = await buildAccount(service)
  const outcome = {
    outcome: 'rejected',
    fault: 'recipient',
    reason: 'no such mailbox',
    suppresses: 'bounce',
  } as const
  const requestId = await attemptedSend(service, account, outcome, to(anyone()))
  expect(await causesOf(account)).toEqual([{ cause: 'bounce', channelId: null, requestId }])
})

test('contacts are compared before whole accounts, which may take long', async () => {
  const { accountId } = await buildAccount(service)
  await checksAreOver()
  await db.insert(suppressionChecks).values({ accountId, contactValue: null })
  await db.insert(suppressionChecks).values({ accountId, contactValue: anyone() })
  const dueNow = async () => {
    const { rows } = await db.$client.query<{ contact: string | null }>(
      'select contact_value as contact from suppression_checks where due_at <= now()',
    )
    return rows.map(({ contact }) => (contact === null ? 'account' : 'contact')).sort()
  }
  expect(await dueNow()).toEqual(['account', 'contact'])
  expect((await runSuppressionChecks(db, testSuppressionKey)).isMore).toBe(true)
  expect(await dueNow()).toEqual(['account'])
  await runSuppressionChecks(db, testSuppressionKey)
  expect(await dueNow()).toEqual([])
  expect((await runSuppressionChecks(db, testSuppressionKey)).isMore).toBe(false)
})
