import { v7 as uuidv7 } from 'uuid'
import { expect, test } from 'vitest'
import { createChannel, updateChannel } from '../../db/accounts/channels.ts'
import { cancelSend } from '../../db/sends/cancel.ts'
import { addSuppression } from '../../db/suppression/entries.ts'
import { eraseContact } from '../../db/upkeep/erase.ts'
import { sealConfig } from '../../src/core/channels/sealed-config.ts'
import type { AttemptOutcome } from '../../src/core/sends/outcome.ts'
import type { SuppressingSign } from '../../src/core/suppression/suppression.ts'
import { createEndSends } from '../../src/sends/end-sends.ts'
import {
  attemptedSend,
  beginAttempt,
  endAttempt,
  lapse,
  loseAttempt,
  namesOf,
  sweepOnce,
  timelineOf,
} from '../support/attempts.ts'
import { type Account, accept, buildAccount, request, textBody } from '../support/builders.ts'
import { buildEndpoint, callbacksOf } from '../support/endpoints.ts'
import { buildChain, unreachable } from '../support/fallbacks.ts'
import { loseWakeUp } from '../support/queue.ts'
import { buildReceipt, sendReport, whatsAppConfig, whatsAppReport } from '../support/receipts.ts'
import { countsSince } from '../support/scrape.ts'
import { serviceOfFile, testSuppressionKey } from '../support/service.ts'
import { eventually } from '../support/wait.ts'

const service = await serviceOfFile({ RETRY_DELAYS_SECONDS: '600' })
const { db } = service.runtime
const sent: AttemptOutcome = { outcome: 'sent', providerMessageId: 'A1', providerStatus: 201 }
const { recordReceipts, runSuppressionChecks } = createEndSends(service.runtime)

const report = async (
  requestId: string,
  channelId: string,
  kind: 'delivered' | 'undelivered' | 'read',
  providerMessageId: string | null = 'A1',
) => {
  const row = buildReceipt(requestId, channelId, kind, {
    providerMessageId,
    providerCode: '131026',
    reason: 'not on WhatsApp',
  })
  const fallsBackFrom = kind === 'undelivered' ? ('sandbox' as const) : undefined
  return (await recordReceipts([{ ...row, fallsBackFrom }]))[0]
}

const sentSend = (account: Account, body?: object) => attemptedSend(service, account, sent, body)

test('a sent one that is reported as undelivered goes on by the fallback', async () => {
  const { account, channels } = await buildChain(service)
  const [first = '', second = ''] = channels
  const requestId = await sentSend(account)
  expect(await report(requestId, first, 'undelivered')).toMatchObject({ fallback: { result: 'fell_back' } })
  const waiting = await timelineOf(service, requestId)
  expect(waiting).toMatchObject({
    ...{ status: 'queued', sentThrough: second, delivery: null, deliveryAt: null, providerMessageId: null },
    ...{ reason: null, providerCode: null },
  })
  expect(namesOf(waiting)).toEqual([
    ...['accepted', 'attempt_started', 'attempt_finished', 'sent', 'undelivered', 'fell_back'],
  ])
  expect(waiting.events.find(({ event }) => event === 'sent')).toEqual({
    at: expect.anything(),
    event: 'sent',
  })
  expect(waiting.events.at(-1)).toMatchObject({ reason: 'not on WhatsApp' })
  await endAttempt(service, await beginAttempt(service, requestId, 'b'), { ...sent, providerMessageId: 'B1' })
  // A repeat of the former channel's report, with and without its id, is no report of the present one.
  expect(await report(requestId, first, 'undelivered')).toMatchObject({ result: 'duplicate' })
  expect(await report(requestId, first, 'undelivered', null)).toMatchObject({ result: 'recorded' })
  expect(await report(requestId, second, 'undelivered', null)).toMatchObject({ result: 'applied' })
  expect(await timelineOf(service, requestId)).toMatchObject({ status: 'sent', delivery: 'undelivered' })
})

test('delivered by the former channel while it waits ends it as sent there, and nothing more is sent', async () => {
  const { account, channels } = await buildChain(service)
  const [first = ''] = channels
  const requestId = await sentSend(account)
  await report(requestId, first, 'undelivered')
  expect(await report(requestId, first, 'delivered')).toMatchObject({ result: 'applied', channelId: first })
  expect(await timelineOf(service, requestId)).toMatchObject({
    ...{ status: 'sent', delivery: 'delivered', channelId: first, sentThrough: first },
  })
  await expect(beginAttempt(service, requestId, 'b')).rejects.toThrow('could not claim')
  // It doesn't fall back a second time, whatever follows.
  expect((await report(requestId, first, 'read'))?.result).toBe('applied')
  expect(await timelineOf(service, requestId)).toMatchObject({ status: 'sent', delivery: 'read' })
})

test('delivered by the former channel after the other one has it is told only', async () => {
  const { account, channels } = await buildChain(service)
  const [first = '', second = ''] = channels
  const requestId = await sentSend(account)
  await report(requestId, first, 'undelivered')
  const attempt = await beginAttempt(service, requestId, 'b')
  expect(await report(requestId, first, 'delivered')).toMatchObject({ result: 'recorded' })
  await endAttempt(service, attempt, { ...sent, providerMessageId: 'B1' })
  expect(await report(requestId, first, 'read')).toMatchObject({ result: 'recorded' })
  expect(await timelineOf(service, requestId)).toMatchObject({
    ...{ status: 'sent', delivery: null, sentThrough: second },
  })
})

test('uncertain, settled by its receipt, may fall back; a lost attempt too, whenever the receipt comes', async () => {
  const { account, channels } = await buildChain(service)
  const [first = '', second = ''] = channels
  const uncertain = await attemptedSend(service, account, {
    ...{ outcome: 'uncertain', fault: 'provider', reason: 'connection lost' },
  })
  await report(uncertain, first, 'undelivered')
  expect(await timelineOf(service, uncertain)).toMatchObject({ status: 'queued', sentThrough: second })
  const lost = await accept(service, account, textBody())
  await loseWakeUp(service, lost)
  await loseAttempt(service, lost, 'lost')
  await report(lost, first, 'undelivered')
  expect(await timelineOf(service, lost)).toMatchObject({ status: 'queued', sentThrough: second })
})

test('what came during the call counts too: an answer with it falls back, and tells so once', async () => {
  const { account, channels } = await buildChain(service)
  const [first = '', second = ''] = channels
  const begin = async () => {
    const requestId = await accept(service, account, textBody())
    await loseWakeUp(service, requestId)
    const attempt = await beginAttempt(service, requestId, 'a')
    expect(await report(requestId, first, 'undelivered')).toMatchObject({ result: 'early' })
    return { requestId, attempt }
  }
  const accepted = await begin()
  await endAttempt(service, accepted.attempt, sent)
  expect(await timelineOf(service, accepted.requestId)).toMatchObject({
    status: 'queued',
    sentThrough: second,
  })
  const refused = await begin()
  await endAttempt(service, refused.attempt, unreachable)
  expect(await timelineOf(service, refused.requestId)).toMatchObject({
    status: 'queued',
    sentThrough: second,
  })
  const dead = await begin()
  await lapse(service, 'a')
  await sweepOnce(service)
  expect(await timelineOf(service, dead.requestId)).toMatchObject({ status: 'queued', sentThrough: second })
})

test('what its fallback can’t send stays undelivered, and the reason says so', async () => {
  const { account, channels } = await buildChain(service)
  const [first = '', second = ''] = channels
  const sealedConfig = sealConfig(
    { host: 'localhost', port: 25, from: 'a@example.com' },
    second,
    service.runtime.settings.CREDENTIALS_KEY,
  )
  await createChannel(db, {
    ...{
      id: uuidv7(),
      accountId: account.accountId,
      provider: 'smtp',
      name: 'Mail',
      sealedConfig,
      onUncertain: 'hold',
    },
  })
  const { rows } = await db.$client.query("select id from channels where name = 'Mail' and account_id = $1", [
    account.accountId,
  ])
  await updateChannel(db, first, { fallbackChannelId: rows[0].id })
  const requestId = await sentSend(account)
  expect(await report(requestId, first, 'undelivered')).toMatchObject({ fallback: { result: 'not_carried' } })
  expect(await timelineOf(service, requestId)).toMatchObject({
    ...{ status: 'sent', delivery: 'undelivered', sentThrough: null, providerCode: '131026' },
    reason:
      'not on WhatsApp; not sent by its fallback Mail: contact.type: this channel reaches email contacts only',
  })
})

test('nothing falls back after a cancel, an erasure, or a report that the contact has read it', async () => {
  const { account, channels } = await buildChain(service)
  const [first = ''] = channels
  await updateChannel(db, first, { onUncertain: 'resend' })
  const canceled = await attemptedSend(service, account, {
    ...{ outcome: 'uncertain', fault: 'provider', reason: 'connection lost' },
  })
  expect(await cancelSend(db, canceled)).toMatchObject({ status: 'uncertain' })
  await report(canceled, first, 'undelivered')
  expect(await timelineOf(service, canceled)).toMatchObject({ status: 'sent', delivery: 'undelivered' })
  const value = '+4915188888888'
  const erased = await sentSend(account, textBody('secret', value))
  await eraseContact(db, { accountId: account.accountId, contact: { type: 'phone', value } })
  await report(erased, first, 'undelivered')
  expect(await timelineOf(service, erased)).toMatchObject({ status: 'sent', sentThrough: null })
  const read = await sentSend(account, textBody('Hello', 'reader@example.com'))
  await report(read, first, 'read')
  await report(read, first, 'undelivered')
  expect(await timelineOf(service, read)).toMatchObject({ delivery: 'undelivered', sentThrough: null })
})

test('a contact that is suppressed on the channel alone falls back; everywhere, it doesn’t, nor after a hard bounce', async () => {
  const { account, channels } = await buildChain(service)
  const { accountId } = account
  const [first = '', second = ''] = channels
  const suppress = (value: string, channelId: string | null) =>
    addSuppression(db, { accountId, contact: { type: 'phone', value }, channelId }, null, testSuppressionKey)
  await suppress('+4915177777771', first)
  await suppress('+4915177777772', null)
  await suppress('+4915177777773', first)
  await suppress('+4915177777773', second)
  const here = await accept(service, account, textBody('Hello', '+4915177777771'))
  const everywhere = await accept(service, account, textBody('Hello', '+4915177777772'))
  const both = await accept(service, account, textBody('Hello', '+4915177777773'))
  const worker = await service.startWorker()
  const ended = async (id: string) => {
    return await eventually(`the end of ${id}`, async () => {
      const timeline = await timelineOf(service, id)
      return timeline.finishedAt !== null && timeline
    })
  }
  expect(await ended(here)).toMatchObject({ status: 'sent', sentThrough: second, attempts: 1 })
  expect(await ended(everywhere)).toMatchObject({ status: 'failed', sentThrough: null, attempts: 0 })
  expect(await ended(both)).toMatchObject({ status: 'failed', sentThrough: second, attempts: 0 })
  await worker.stop()
  const bounced = async (value: string, suppresses: SuppressingSign) => {
    const requestId = await sentSend(account, textBody('Hello', value))
    const receipt = buildReceipt(requestId, first, 'undelivered', { providerMessageId: 'A1' })
    await recordReceipts([{ ...receipt, suppresses, fallsBackFrom: 'sandbox' }])
    return await timelineOf(service, requestId)
  }
  const invalid = await bounced('+4915177777774', 'invalid_contact')
  expect(invalid).toMatchObject({ status: 'sent', delivery: 'undelivered', sentThrough: null })
  const unknownHere = await bounced('+4915177777775', 'bounce')
  expect(unknownHere).toMatchObject({ status: 'queued', delivery: null, sentThrough: second })
})

test('a scheduled send to a contact that is suppressed on the channel alone waits for its time; everywhere, it ends at once', async () => {
  const { account, channels } = await buildChain(service)
  const { accountId } = account
  const sendAt = new Date(Date.now() + 3_600_000).toISOString()
  const scheduled = async (value: string, channelId: string | null) => {
    const contact = { type: 'phone', value } as const
    const requestId = await accept(service, account, { ...textBody('Hello', value), sendAt })
    await addSuppression(db, { accountId, contact, channelId }, null, testSuppressionKey)
    return requestId
  }
  const here = await scheduled('+4915177777781', channels[0] ?? '')
  const everywhere = await scheduled('+4915177777782', null)
  await runSuppressionChecks()
  const waiting = await timelineOf(service, here)
  expect(waiting).toMatchObject({ status: 'queued', sentThrough: null, attempts: 0 })
  expect(namesOf(waiting)).toEqual(['accepted', 'scheduled'])
  expect(await timelineOf(service, everywhere)).toMatchObject({ status: 'failed', sentThrough: null })
})

test('its endpoints are told of the fallback, never of the failure before it, and once of its end', async () => {
  const { account } = await buildChain(service)
  const endpoint = await buildEndpoint(service, account.accountId, 'https://example.com/hook')
  const failures = await buildEndpoint(service, account.accountId, 'https://example.com/failures', [
    'message.failed',
  ])
  const requestId = await attemptedSend(service, account, unreachable)
  await endAttempt(service, await beginAttempt(service, requestId, 'b'), unreachable)
  const told = async (of: typeof endpoint) =>
    (await callbacksOf(service, of)).map(({ type, sequence, providerCode }) => ({
      type,
      sequence,
      providerCode,
    }))
  expect(await told(endpoint)).toEqual([
    { type: 'message.fell_back', sequence: 2, providerCode: '131026' },
    { type: 'message.failed', sequence: 3, providerCode: '131026' },
  ])
  expect(await told(failures)).toEqual([{ type: 'message.failed', sequence: 3, providerCode: '131026' }])
})

test('the API shows the channel of the request, and the list finds it by that', async () => {
  const { account, channels } = await buildChain(service)
  const [first = '', second = ''] = channels
  const requestId = await attemptedSend(service, account, unreachable)
  const get = async (path: string) =>
    (await request(service, path, { headers: { Authorization: `Bearer ${account.apiKey}` } })).body
  expect(await get(`/v1/messages/${requestId}`)).toMatchObject({ channelId: first, sentThrough: second })
  expect((await get(`/v1/messages?channelId=${first}`)).messages).toMatchObject([
    { requestId, channelId: first, sentThrough: second },
  ])
  expect((await get(`/v1/messages?channelId=${second}`)).messages).toEqual([])
})

test('receipts of two WhatsApp channels of one app are each taken as their own', async () => {
  const account = await buildAccount(service)
  const { CREDENTIALS_KEY } = service.runtime.settings
  const build = async (phoneNumberId: string, fallbackChannelId?: string) => {
    const id = uuidv7()
    const config = { ...whatsAppConfig, phoneNumberId }
    await createChannel(db, {
      ...{
        id,
        accountId: account.accountId,
        provider: 'whatsapp-cloud',
        name: phoneNumberId,
        onUncertain: 'hold',
      },
      ...{
        sealedConfig: sealConfig(config, id, CREDENTIALS_KEY),
        fallbackChannelId: fallbackChannelId ?? null,
      },
    })
    return { id, config }
  }
  const second = await build('222')
  const first = await build('111', second.id)
  const by = { ...account, channelId: first.id }
  const requestId = await attemptedSend(service, by, { ...sent, providerMessageId: 'wamid.A' })
  const tell = (of: typeof first, kind: 'delivered' | 'undelivered', messageId: string) =>
    sendReport(whatsAppReport(service, second.id, [{ requestId, kind, messageId, code: 131000 }], of.config))
  const counted = countsSince(service.api.metrics.fallbacks, 'from', 'to', 'result')
  await counted()
  expect((await tell(first, 'undelivered', 'wamid.A')).status).toBe(200)
  expect(await counted()).toEqual({ 'whatsapp-cloud whatsapp-cloud fell_back': 1 })
  expect(await timelineOf(service, requestId)).toMatchObject({ status: 'queued', sentThrough: second.id })
  await endAttempt(service, await beginAttempt(service, requestId, 'b'), {
    ...sent,
    providerMessageId: 'wamid.B',
  })
  await tell(first, 'delivered', 'wamid.A')
  expect(await timelineOf(service, requestId)).toMatchObject({ status: 'sent', delivery: null })
  await tell(second, 'delivered', 'wamid.B')
  expect(await timelineOf(service, requestId)).toMatchObject({ status: 'sent', delivery: 'delivered' })
})
