import { createHmac } from 'node:crypto'
import { Webhook } from 'standardwebhooks'
import { describe, expect, onTestFinished, test } from 'vitest'
import { deleteChannel } from '../../db/accounts/deleted-channels.ts'
import type { AttemptOutcome } from '../../src/core/sends/outcome.ts'
import type { ProviderName } from '../../src/providers/index.ts'
import { deliveryReport } from '../../src/providers/smtp/dev/reports.ts'
import { statusCallback } from '../../src/providers/twilio/dev/reports.ts'
import { receiptReport } from '../../src/providers/webhook/dev/emulator.ts'
import { absentId } from '../support/absent-id.ts'
import { attemptedSend, timelineOf } from '../support/attempts.ts'
import { type Account, accept, buildAccount, request, textBody } from '../support/builders.ts'
import { expectError } from '../support/expect-error.ts'
import { buildProviderChannel } from '../support/provider-channel.ts'
import { rawRequest } from '../support/raw-http.ts'
import { receiptsUrl, sendReport, whatsAppConfig, whatsAppReport } from '../support/receipts.ts'
import { countsSince } from '../support/scrape.ts'
import { serviceOfFile, startTestService } from '../support/service.ts'
import { freshRedis } from '../support/stores.ts'
import { webhookSecret } from '../support/webhook-receiver.ts'

const publicBaseUrl = 'https://messages.example.com'
const maxBytes = 4 * 1024 * 1024

const twilioConfig = {
  accountSid: `AC${'0a'.repeat(16)}`,
  authToken: '1b'.repeat(16),
  from: '+15550100100',
  statusCallback: true,
}
const smtpConfig = {
  host: 'mail.example.org',
  from: 'outbound@example.org',
  bounceToken: 'token-of-the-pipe',
}
const webhookConfig = { url: 'https://example.com/messages', secret: webhookSecret }

const channelOf = async (provider: ProviderName, config: object, account = owner): Promise<Account> => ({
  ...account,
  channelId: await buildProviderChannel(service, account.accountId, provider, config),
})

const service = await serviceOfFile({ PUBLIC_BASE_URL: publicBaseUrl, AUTH_FAILURE_LIMIT: '1000000' })
const owner = await buildAccount(service)
const whatsApp = await channelOf('whatsapp-cloud', whatsAppConfig)
const counts = countsSince(service.api.metrics.receipts, 'result')

const sent: AttemptOutcome = { outcome: 'sent', providerStatus: 200 }
const sentSend = (by: Account, contact?: string) =>
  attemptedSend(service, by, sent, textBody('Hello', contact))
/** How many receipts of WhatsApp's were counted by how late they came. */
const lagsCounted = async (): Promise<number> => {
  const { values } = await service.api.metrics.receiptLag.get()
  const counted = values.find(
    ({ labels, metricName }) => labels.provider === 'whatsapp-cloud' && metricName?.endsWith('_count'),
  )
  return counted?.value ?? 0
}
const deliveryOf = async (requestId: string) => (await timelineOf(service, requestId)).delivery

const report = (requestId: string, by = whatsApp) =>
  whatsAppReport(service, by.channelId, [{ requestId, kind: 'delivered' }])

describe('a good request', () => {
  test('is answered with 200 and an empty body, and its receipts are in the timeline by then', async () => {
    const requestId = await sentSend(whatsApp)
    const answer = await sendReport(report(requestId))
    expect(answer).toMatchObject({ status: 200, body: '' })
    expect(answer.headers.get('X-Request-Id')).toMatch(/^[0-9a-f-]{36}$/)
    const timeline = await request(service, `/v1/messages/${requestId}`, {
      headers: { Authorization: `Bearer ${owner.apiKey}` },
    })
    expect(timeline.body).toMatchObject({ status: 'sent', delivery: 'delivered' })
    expect(timeline.body.events.at(-1)).toMatchObject({ event: 'delivered', providerStatus: 'delivered' })
    expect(timeline.body.deliveryAt).toBe(timeline.body.events.at(-1).at)
  })

  test('of each provider changes its send', async () => {
    const twilio = await channelOf('twilio', twilioConfig)
    const smtp = await channelOf('smtp', smtpConfig)
    const webhook = await channelOf('webhook', webhookConfig)
    const [byTwilio, bySmtp, byWebhook] = [
      await sentSend(twilio),
      await sentSend(smtp, 'ann@example.com'),
      await sentSend(webhook),
    ]
    const callback = statusCallback(
      `${publicBaseUrl}/receipts/${twilio.channelId}?requestId=${byTwilio}`,
      twilioConfig.authToken,
      { MessageStatus: 'delivered', MessageSid: 'SM1' },
    )
    const bounce = deliveryReport(
      receiptsUrl(service, smtp.channelId),
      smtpConfig.bounceToken,
      { envelopeId: bySmtp, from: smtpConfig.from, to: 'ann@example.com', headers: '' },
      { action: 'failed', status: '5.1.1', diagnostic: '550 5.1.1 <ann@example.com>' },
    )
    const posted = receiptReport(receiptsUrl(service, webhook.channelId), new Webhook(webhookSecret), [
      { requestId: byWebhook, status: 'read' },
    ])
    const reports = [{ ...callback, url: callback.url.replace(publicBaseUrl, service.url) }, bounce, posted]
    for (const one of reports) expect((await sendReport(one)).status).toBe(200)
    expect(await deliveryOf(byTwilio)).toBe('delivered')
    expect(await deliveryOf(bySmtp)).toBe('undelivered')
    expect(await deliveryOf(byWebhook)).toBe('read')
  })

  test('with 1 unknown and 1 malformed receipt among 100 applies the other 98', async () => {
    const ids = await Promise.all(Array.from({ length: 98 }, () => sentSend(whatsApp)))
    const statuses = [absentId, ...ids].map((requestId) => ({ requestId, kind: 'delivered' as const }))
    const { url, body } = whatsAppReport(service, whatsApp.channelId, statuses)
    const parsed = JSON.parse(body)
    parsed.entry[0].changes[0].value.statuses.splice(50, 0, {
      id: 'wamid.malformed',
      status: { of: 'no form' },
    })
    await counts()
    expect((await sendReport(signed(url, JSON.stringify(parsed)))).status).toBe(200)
    expect(await counts()).toEqual({ applied: 98, unknown: 1, unreadable: 1 })
    for (const id of ids) expect(await deliveryOf(id)).toBe('delivered')
    const unknown = service.logs.filter(({ event }) => event === 'receipts_unknown')
    expect(unknown).toMatchObject([{ channelId: whatsApp.channelId, count: 1, firstId: absentId }])
  })

  test('that tells something else is answered with 200, counted, and changes nothing', async () => {
    await counts()
    const inbound = {
      object: 'whatsapp_business_account',
      entry: [{ changes: [{ field: 'messages', value: { messages: [{}] } }] }],
    }
    const { url } = report(absentId)
    expect((await sendReport(signed(url, JSON.stringify(inbound)))).status).toBe(200)
    expect(await counts()).toEqual({ unexpected: 1 })
  })

  test.each([
    ['absent', absentId],
    ['impossible', 'no-id'],
    ['missing', undefined],
  ])('about a send whose id is %s is answered with 200, and counted as unknown', async (_, requestId) => {
    await counts()
    const answer = await sendReport(
      whatsAppReport(service, whatsApp.channelId, [{ requestId, kind: 'read' }]),
    )
    expect(answer.status).toBe(200)
    expect(await counts()).toEqual({ unknown: 1 })
  })

  test('may have texts of any length: they are cut between characters, as PostgreSQL takes no half of one', async () => {
    const requestId = await sentSend(whatsApp)
    const messageId = `x${'😀'.repeat(255)}`
    const answer = await sendReport(
      whatsAppReport(service, whatsApp.channelId, [{ requestId, kind: 'read', messageId }]),
    )
    expect(answer.status).toBe(200)
    expect(await deliveryOf(requestId)).toBe('read')
  })

  test('that comes again changes nothing, and is not counted as late', async () => {
    const requestId = await sentSend(whatsApp)
    const one = report(requestId)
    const startLags = await lagsCounted()
    await sendReport(one)
    expect(await lagsCounted()).toBe(startLags + 1)
    const before = await timelineOf(service, requestId)
    await counts()
    expect((await sendReport(one)).status).toBe(200)
    expect(await counts()).toEqual({ duplicate: 1 })
    expect(await lagsCounted()).toBe(startLags + 1)
    expect(await timelineOf(service, requestId)).toEqual(before)
  })

  test('may be chunked, and up to 4 MiB', async () => {
    const requestId = await sentSend(whatsApp)
    const { url, body } = report(requestId)
    const long = signed(url, `${body}${' '.repeat(maxBytes - Buffer.byteLength(body))}`)
    expect((await sendReport(long)).status).toBe(200)
    const path = new URL(url).pathname
    const { headers, body: small } = report(requestId)
    expect(
      (await rawRequest(service, { path, headers, chunks: [small.slice(0, 9), small.slice(9)] })).status,
    ).toBe(200)
  })

  test('reaches each channel of the account with the same number and secret', async () => {
    const second = await channelOf('whatsapp-cloud', whatsAppConfig)
    const withoutToken = await channelOf('whatsapp-cloud', { ...whatsAppConfig, verifyToken: undefined })
    const otherSecret = await channelOf('whatsapp-cloud', { ...whatsAppConfig, appSecret: 'd'.repeat(32) })
    const webhook = await channelOf('webhook', webhookConfig)
    const all = [whatsApp, second, withoutToken, otherSecret, webhook]
    const ids = await Promise.all(all.map((by) => sentSend(by)))
    const one = whatsAppReport(
      service,
      whatsApp.channelId,
      ids.map((requestId) => ({ requestId, kind: 'delivered' as const })),
    )
    await counts()
    expect((await sendReport(one)).status).toBe(200)
    expect(await Promise.all(ids.map(deliveryOf))).toEqual([
      'delivered',
      'delivered',
      'delivered',
      null,
      null,
    ])
    expect(await counts()).toEqual({ applied: 3, unknown: 2 })
  })

  test('reaches another channel of the same app, and only by the number that it names', async () => {
    const second = await channelOf('whatsapp-cloud', { ...whatsAppConfig, phoneNumberId: '222' })
    const otherApp = await channelOf('whatsapp-cloud', {
      ...whatsAppConfig,
      phoneNumberId: '333',
      appSecret: 'f'.repeat(32),
    })
    const foreign = await channelOf(
      'whatsapp-cloud',
      { ...whatsAppConfig, phoneNumberId: '444' },
      await buildAccount(service),
    )
    const results: [Account, string, string | null][] = [
      [second, '222', 'delivered'],
      [second, '555', null],
      [otherApp, '333', null],
      [foreign, '444', null],
    ]
    for (const [by, phoneNumberId, delivery] of results) {
      const requestId = await sentSend(by)
      const { appSecret } = whatsAppConfig
      const one = whatsAppReport(service, whatsApp.channelId, [{ requestId, kind: 'delivered' }], {
        phoneNumberId,
        appSecret,
      })
      expect((await sendReport(one)).status).toBe(200)
      expect(await deliveryOf(requestId)).toBe(delivery)
    }
  })
})

/** Signed as Meta would sign these bytes. */
function signed(url: string, body: string, secret = whatsAppConfig.appSecret) {
  const signature = createHmac('sha256', secret).update(body).digest('hex')
  return {
    url,
    body,
    headers: { 'content-type': 'application/json', 'x-hub-signature-256': `sha256=${signature}` },
  }
}

describe('no timeline changes, and the answer is 403,', () => {
  test.each([
    [
      'for a wrong signature',
      (requestId: string) => signed(report(requestId).url, report(requestId).body, 'x'.repeat(32)),
    ],
    [
      'for no signature',
      (requestId: string) => ({ ...report(requestId), headers: { 'content-type': 'application/json' } }),
    ],
    [
      'for a changed body',
      (requestId: string) => ({ ...report(requestId), body: `${report(requestId).body} ` }),
    ],
  ])('%s', async (_, forge) => {
    const requestId = await sentSend(whatsApp)
    await counts()
    expectError(await sendReport(forge(requestId)), 403)
    expect(await counts()).toEqual({ refused: 1 })
    expect(await deliveryOf(requestId)).toBeNull()
  })

  test('for a stale webhook', async () => {
    const webhook = await channelOf('webhook', webhookConfig)
    const requestId = await sentSend(webhook)
    const body = JSON.stringify({ requestId, status: 'delivered' })
    const at = new Date(Date.now() - 6 * 60_000)
    const headers = {
      'content-type': 'application/json',
      'webhook-id': 'msg_1',
      'webhook-timestamp': String(Math.floor(at.getTime() / 1000)),
      'webhook-signature': new Webhook(webhookSecret).sign('msg_1', at, body),
    }
    expectError(await sendReport({ url: receiptsUrl(service, webhook.channelId), headers, body }), 403)
    expect(await deliveryOf(requestId)).toBeNull()
  })

  test('for a report that is signed for another channel', async () => {
    const other = await channelOf('whatsapp-cloud', { ...whatsAppConfig, appSecret: 'e'.repeat(32) })
    const requestId = await sentSend(other)
    expectError(await sendReport({ ...report(requestId), url: receiptsUrl(service, other.channelId) }), 403)
    expect(await deliveryOf(requestId)).toBeNull()
  })
})

test('a well-signed report about a send of another account is answered with 200, as unknown, and changes nothing', async () => {
  const foreign = await channelOf('whatsapp-cloud', whatsAppConfig, await buildAccount(service))
  const requestId = await sentSend(foreign)
  await counts()
  expect((await sendReport(report(requestId))).status).toBe(200)
  expect(await counts()).toEqual({ unknown: 1 })
  expect(await deliveryOf(requestId)).toBeNull()
})

describe('the order of checks', () => {
  const post = (channelId: string, headers: Record<string, string>, chunks: string[] = []) =>
    rawRequest(service, { path: `/receipts/${channelId}`, headers, chunks })

  test('1: a declared length over 4 MiB, or a Content-Encoding but identity, is a 400, whatever the channel', async () => {
    expectError(
      await post(absentId, { 'Content-Length': String(maxBytes + 1) }),
      400,
      /^body: more than 4194304 bytes$/,
    )
    expectError(await post(absentId, { 'Content-Encoding': 'gzip' }), 400, /^Content-Encoding: /)
    expectError(await post(absentId, { 'Content-Encoding': 'Identity' }), 404)
  })

  test('2: a channel that is absent, deleted, or takes no receipts is a 404, with the same bytes', async () => {
    const deleted = await channelOf('whatsapp-cloud', whatsAppConfig)
    await service.runtime.db.$client.query('update channels set held_at = now() where id = $1', [
      deleted.channelId,
    ])
    await deleteChannel(service.runtime.db, deleted.channelId)
    const { appSecret: _, verifyToken: __, ...withoutSecret } = whatsAppConfig
    const off = await channelOf('whatsapp-cloud', withoutSecret)
    const ids = [absentId, 'no-id', deleted.channelId, owner.channelId, off.channelId]
    for (const id of ids) {
      for (const answer of [await post(id, {}), await request(service, `/receipts/${id}`)]) {
        expectError(answer, 404, 'Channel not found')
      }
    }
  })

  test('3: the body is cut at 4 MiB, however it is sent', async () => {
    const chunks = Array.from({ length: 5 }, () => ' '.repeat(1024 * 1024))
    expectError(await post(whatsApp.channelId, {}, chunks), 400, /^body: more than 4194304 bytes$/)
  })

  test('4: the proof comes before the body is parsed', async () => {
    expectError(await post(whatsApp.channelId, {}, ['no JSON']), 403)
  })

  test('5: a well-signed body that is none is a 400', async () => {
    await counts()
    expectError(
      await sendReport(signed(receiptsUrl(service, whatsApp.channelId), 'no JSON')),
      400,
      /^body: has to be JSON$/,
    )
    expect(await counts()).toEqual({ unreadable: 1 })
  })
})

describe('the handshake', () => {
  const check = (channelId: string, query: Record<string, string>) =>
    fetch(`${receiptsUrl(service, channelId)}?${new URLSearchParams(query)}`)
  const good = {
    'hub.mode': 'subscribe',
    'hub.verify_token': whatsAppConfig.verifyToken,
    'hub.challenge': '1158201444',
  }

  test('with the right token is answered with the challenge, as plain text', async () => {
    const response = await check(whatsApp.channelId, good)
    expect(response.status).toBe(200)
    expect(response.headers.get('Content-Type')).toMatch(/^text\/plain/)
    expect(response.headers.get('X-Content-Type-Options')).toBe('nosniff')
    expect(await response.text()).toBe('1158201444')
  })

  test('with another token or mode is a 403', async () => {
    for (const changed of [{ 'hub.verify_token': 'other' }, { 'hub.mode': 'unsubscribe' }]) {
      const answer = await request(
        service,
        `/receipts/${whatsApp.channelId}?${new URLSearchParams({ ...good, ...changed })}`,
      )
      expectError(answer, 403)
    }
  })

  test('is a 405 on a channel of another provider, which takes POST', async () => {
    for (const [provider, config] of [
      ['twilio', twilioConfig],
      ['smtp', smtpConfig],
      ['webhook', webhookConfig],
    ] as const) {
      const { channelId } = await channelOf(provider, config)
      const answer = await request(service, `/receipts/${channelId}`)
      expectError(answer, 405)
      expect(answer.headers.get('Allow')).toBe('POST')
    }
  })
})

test('an address whose proofs keep failing gets 429, and a good report of it is still taken', async () => {
  const limited = await startTestService(
    { AUTH_FAILURE_LIMIT: '3', PUBLIC_BASE_URL: publicBaseUrl },
    { ...service.stores, redisUrl: await freshRedis() },
  )
  onTestFinished(() => limited.stop())
  const bad = signed(receiptsUrl(limited, whatsApp.channelId), '{}', 'wrong')
  const statuses: number[] = []
  for (let i = 0; i < 5; i++) statuses.push((await sendReport(bad)).status)
  expect(statuses).toEqual([403, 403, 403, 429, 429])
  const answer = await sendReport(bad)
  expectError(answer, 429)
  expect(Number(answer.headers.get('Retry-After'))).toBeGreaterThan(0)
  const requestId = await sentSend(whatsApp)
  const good = whatsAppReport(limited, whatsApp.channelId, [{ requestId, kind: 'delivered' }])
  expect((await sendReport(good)).status).toBe(200)
  const withKey = await request(limited, '/v1/messages', {
    method: 'POST',
    headers: { Authorization: 'Bearer wrong' },
  })
  expectError(withKey, 429)
})

test('no log line of a receipt holds a secret, a number or an address', async () => {
  const requestId = await accept(service, whatsApp, textBody('Hello', '+4915112345678'))
  await sendReport(
    whatsAppReport(service, whatsApp.channelId, [{ requestId, kind: 'undelivered', code: 131026 }]),
  )
  const lines = JSON.stringify(service.logs)
  for (const secret of [
    whatsAppConfig.appSecret,
    webhookSecret,
    smtpConfig.bounceToken,
    '4915112345678',
    'ann@example.com',
  ]) {
    expect(lines).not.toContain(secret)
  }
})
