import { expect, test } from 'vitest'
import { foldCounts } from '../../db/counters/fold.ts'
import { recordReceipts } from '../../db/receipts/receipts.ts'
import { eraseSends } from '../../db/upkeep/erase.ts'
import type { ReceiptKind } from '../../src/core/receipts/receipt.ts'
import type { Cost } from '../../src/core/sends/cost.ts'
import type { AttemptOutcome } from '../../src/core/sends/outcome.ts'
import { attemptedSend, beginAttempt, endAttempt, loseAttempt, rowOf } from '../support/attempts.ts'
import { accept, buildAccount, buildKey, request, textBody } from '../support/builders.ts'
import { runCli, startCli } from '../support/cli.ts'
import { buildReceipt } from '../support/receipts.ts'
import { serviceOfFile } from '../support/service.ts'

const service = await serviceOfFile()
const { db } = service.runtime
const today = new Date().toISOString().slice(0, 10)
const tomorrow = new Date(Date.now() + 86_400_000).toISOString().slice(0, 10)

const costs = (
  amount: string | null,
  currency: string | null = 'EUR',
  parts: number | null = null,
): Cost => ({
  ...{ amount, currency, parts },
})
const sentFor = (cost?: Cost): AttemptOutcome => ({
  ...{ outcome: 'sent', providerStatus: 200, providerMessageId: 'm-1' },
  ...(cost && { cost }),
})

/** A channel whose sends cost something, and what its client sees of them. */
async function buildBilled() {
  const account = await buildAccount(service)
  const { apiKey } = await buildKey(service, account.accountId, {
    permissions: ['usage:read', 'messages:read', 'messages:send'],
  })
  const get = async (path: string) =>
    (await request(service, path, { headers: { Authorization: `Bearer ${apiKey}` } })).body
  return {
    account,
    usage: async (more = '') => {
      const usage = async () => (await get(`/v1/usage?from=${today}&to=${tomorrow}${more}`)).usage
      const pending = await usage()
      while ((await foldCounts(db, 1000)) > 0);
      expect(await usage()).toEqual(pending)
      return pending
    },
    timeline: (requestId: string) => get(`/v1/messages/${requestId}`),
    /** Records receipts in one statement. */
    report: (requestId: string, ...receipts: [ReceiptKind, Cost?, string?][]) =>
      recordReceipts(
        db,
        receipts.map(([kind, cost, providerMessageId = 'm-1']) =>
          buildReceipt(requestId, account.channelId, kind, { providerMessageId, ...(cost && { cost }) }),
        ),
      ),
  }
}

test('the cost of an answer is in its event and in the usage; the reported parts win', async () => {
  const { account, usage, timeline } = await buildBilled()
  const requestId = await attemptedSend(service, account, sentFor(costs('0.1500', 'EUR', 3)))
  const { events, segments, encoding } = await timeline(requestId)
  expect(events.find(({ event }: { event: string }) => event === 'attempt_finished')).toMatchObject({
    cost: { amount: '0.1500', currency: 'EUR', parts: 3 },
  })
  expect({ segments, encoding }).toEqual({ segments: 3, encoding: 'gsm-7' })
  expect(await usage()).toMatchObject([{ accepted: 1, segments: 3, cost: { EUR: '0.15' } }])
})

test('a send of which no provider says a cost has none', async () => {
  const { account, usage, timeline } = await buildBilled()
  const requestId = await attemptedSend(service, account, sentFor())
  expect(JSON.stringify(await timeline(requestId))).not.toContain('cost')
  expect(await usage()).toMatchObject([{ accepted: 1, segments: 1, cost: {} }])
  expect(await rowOf(service, requestId)).toMatchObject({ costs: null, receiptKeys: null })
})

test('a cost that receipts repeat counts once; one that changes counts as it was said last', async () => {
  const { account, usage, report, timeline } = await buildBilled()
  const requestId = await attemptedSend(service, account, sentFor(costs('0.05')))
  const results = async (...receipts: [ReceiptKind, Cost?][]) =>
    (await report(requestId, ...receipts)).map(({ result }) => result)
  expect(await results(['accepted', costs('0.05')], ['delivered', costs('0.05')])).toEqual([
    'recorded',
    'applied',
  ])
  expect(await usage()).toMatchObject([{ cost: { EUR: '0.05' } }])
  expect(await results(['delivered', costs('0.05')])).toEqual(['duplicate'])
  expect(await results(['delivered', costs('0.07', 'EUR', 2)])).toEqual(['recorded'])
  expect(await usage()).toMatchObject([{ segments: 2, cost: { EUR: '0.07' } }])
  expect(await results(['read'])).toEqual(['applied'])
  expect(await usage()).toMatchObject([{ segments: 2, cost: { EUR: '0.07' } }])
  const { events } = await timeline(requestId)
  expect(events.at(-2)).toMatchObject({ event: 'receipt', cost: { amount: '0.07', parts: 2 } })
})

test('many receipts at once count each message once', async () => {
  const { account, usage, report } = await buildBilled()
  const requestId = await attemptedSend(service, account, sentFor())
  await Promise.all(
    Array.from({ length: 20 }, (_, index) =>
      report(requestId, [index % 2 ? 'delivered' : 'accepted', costs('0.05', 'EUR', 2)]),
    ),
  )
  expect(await usage()).toMatchObject([{ segments: 2, cost: { EUR: '0.05' } }])
})

test('a receipt that comes before the answer counts with it, once', async () => {
  const { account, usage, report } = await buildBilled()
  const requestId = await accept(service, account, textBody())
  const send = await beginAttempt(service, requestId, 'first')
  expect(await report(requestId, ['delivered', costs('0.06', 'EUR', 2)])).toMatchObject([{ result: 'early' }])
  expect(await usage()).toMatchObject([{ segments: 1, cost: {} }])
  await endAttempt(service, send, sentFor(costs('0.05', 'EUR', 1)))
  expect(await usage()).toMatchObject([{ delivered: 1, segments: 2, cost: { EUR: '0.06' } }])
})

test('an outcome that is recorded again counts once', async () => {
  const { account, usage } = await buildBilled()
  const requestId = await accept(service, account, textBody())
  const send = await beginAttempt(service, requestId, 'first')
  await endAttempt(service, send, sentFor(costs('0.05')))
  await endAttempt(service, send, sentFor(costs('0.05')))
  expect(await usage()).toMatchObject([{ sent: 1, cost: { EUR: '0.05' } }])
})

test('the cost of an outcome that comes late counts', async () => {
  const { account, usage } = await buildBilled()
  const requestId = await accept(service, account, textBody())
  const send = await loseAttempt(service, requestId, 'dead')
  await endAttempt(service, send, sentFor(costs('0.05', 'EUR', 2)))
  expect(await usage()).toMatchObject([{ sent: 1, segments: 2, cost: { EUR: '0.05' } }])
})

test('each message of a send adds up, each currency by itself, to the last digit', async () => {
  const { account, usage, report } = await buildBilled()
  const requestId = await attemptedSend(service, account, sentFor(costs('0.1')))
  await report(requestId, ['undelivered', costs('0.2'), 'm-2'], ['delivered', costs('0.30', 'USD'), 'm-3'])
  const other = await attemptedSend(service, account, sentFor(costs('0.000000000001')))
  expect(await usage()).toMatchObject([{ cost: { EUR: '0.300000000001', USD: '0.3' } }])
  await report(other, ['delivered', costs('0')])
  expect(await usage('&groupBy=channel,day,priority')).toMatchObject([
    { channelId: account.channelId, day: today, priority: 'normal', cost: { EUR: '0.3', USD: '0.3' } },
  ])
})

test('the parts of a message that is no text are not segments', async () => {
  const { account, usage } = await buildBilled()
  const media = {
    type: 'media',
    media: { mediaType: 'image', mimetype: 'image/png', mediaUrl: 'https://example.com/a.png' },
  }
  await attemptedSend(service, account, sentFor(costs('0.05', 'EUR', 1)), { ...textBody(), message: media })
  expect(await usage()).toMatchObject([{ segments: 0, cost: { EUR: '0.05' } }])
})

test('what an erased send costs stays counted and in its timeline', async () => {
  const { account, usage, report, timeline } = await buildBilled()
  const requestId = await attemptedSend(service, account, sentFor(costs('0.05')))
  await eraseSends(db, [requestId])
  await report(requestId, ['delivered', costs('0.06')])
  expect(await usage()).toMatchObject([{ cost: { EUR: '0.06' } }])
  const said = (await timeline(requestId)).events.flatMap(({ cost }: { cost?: Cost }) => cost ?? [])
  expect(said).toMatchObject([{ amount: '0.05' }, { amount: '0.06' }])
})

test('outbound usage prints what sends cost; CSV has a column for each currency', async () => {
  const { account } = await buildBilled()
  await attemptedSend(service, account, sentFor(costs('0.05', 'EUR')))
  await attemptedSend(service, account, sentFor(costs('0.07', 'USD')))
  const args = ['usage', '--account', account.accountId, '--month', today.slice(0, 7)]
  const { stdout } = await runCli(service, ...args)
  expect(JSON.parse(stdout).usage).toMatchObject([{ accepted: 2, cost: { EUR: '0.05', USD: '0.07' } }])
  const { stdout: csv } = await startCli(service, {}, ...args, '--csv').ended
  const [header, row] = csv.trim().split('\n')
  expect(header).toMatch(/,"segments","cost EUR","cost USD"\r?$/)
  expect(row).toMatch(/,"2","0.05","0.07"\r?$/)
})
