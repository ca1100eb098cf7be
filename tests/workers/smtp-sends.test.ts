import { afterAll, beforeAll, expect, test } from 'vitest'
import { listChannels } from '../../db/accounts/channels.ts'
import { setTemplate } from '../../db/accounts/templates.ts'
import type { Timeline } from '../../src/core/sends/timeline.ts'
import { openSmtpEmulator, type SmtpEmulator } from '../../src/providers/smtp/dev/emulator.ts'
import { type Account, accept, buildAccount, request } from '../support/builders.ts'
import { buildProviderChannel } from '../support/provider-channel.ts'
import { finishedTimeline, startTestService, type TestService } from '../support/service.ts'
import { eventually } from '../support/wait.ts'

let service: TestService
let account: Account
let emulator: SmtpEmulator

beforeAll(async () => {
  emulator = await openSmtpEmulator()
  service = await startTestService()
  account = await buildAccount(service)
  await service.startWorker()
})
afterAll(async () => {
  await service.stop()
  await emulator.stop()
})

const buildSmtp = (changes: object = {}) =>
  buildProviderChannel(service, account.accountId, 'smtp', { ...emulator.config, ...changes })

const sendBy = (channelId: string, message: object, local: string) =>
  accept(
    service,
    { ...account, channelId },
    { contact: { type: 'email', value: `${local}@example.com` }, message },
  )

const mailTo = (local: string) => emulator.calls.findLast(({ to }) => to.includes(`${local}@example.com`))

const text = { type: 'text', text: { value: 'Hello' } }

test('a document of base64 arrives as an attachment with its exact bytes', async () => {
  const content = Buffer.from(Array.from({ length: 100_000 }, (_, i) => (i * 31) % 256))
  const media = {
    mediaType: 'document',
    filename: 'Grüße.bin',
    caption: 'Look',
    base64: content.toString('base64'),
  }
  const requestId = await sendBy(await buildSmtp(), { type: 'media', media }, 'document')
  const timeline = await finishedTimeline(service, requestId, account.apiKey)
  expect(timeline).toMatchObject({ status: 'sent', providerMessageId: `<${requestId}@example.org>` })
  const { mail, isTaken } = mailTo('document') ?? {}
  expect(isTaken).toBe(true)
  expect(mail?.parts.map((part) => part.content.toString('base64'))).toEqual([
    Buffer.from('Look').toString('base64'),
    content.toString('base64'),
  ])
})

test('a registered template arrives with its subject', async () => {
  const channelId = await buildSmtp()
  const definition = { subject: 'Hi {{name}}', text: 'Dear {{name}}' }
  await setTemplate(service.runtime.db, { channelId, name: 'welcome', definition })
  const template = { name: 'welcome', variables: [{ key: 'name', value: 'Änn' }] }
  const requestId = await sendBy(channelId, { type: 'template', template }, 'template')
  expect((await finishedTimeline(service, requestId, account.apiKey)).status).toBe('sent')
  expect(mailTo('template')?.mail?.headers.subject).toBe('Hi Änn')
})

test("a channel's subject has the client's reference", async () => {
  const channelId = await buildSmtp({ subject: 'Order {{reference}}' })
  const contact = { type: 'email', value: 'referred@example.com' }
  const body = { contact, message: text, reference: 'A-4711 ä' }
  const requestId = await accept(service, { ...account, channelId }, body)
  expect((await finishedTimeline(service, requestId, account.apiKey)).status).toBe('sent')
  expect(mailTo('referred')?.mail?.headers.subject).toBe('Order A-4711 ä')
})

test("a wrong password holds the channel, and the server's words stand in the timeline", async () => {
  const channelId = await buildSmtp({ pass: 'wrong' })
  const requestId = await sendBy(channelId, text, 'waiting')
  const timeline = await eventually('the refusal', async () => {
    const { body } = await request(service, `/v1/messages/${requestId}`, {
      headers: { Authorization: `Bearer ${account.apiKey}` },
    })
    return (body as Timeline).events.some(({ event }) => event === 'attempt_finished') && (body as Timeline)
  })
  expect(timeline.status).toBe('queued')
  expect(timeline.events).toContainEqual(
    expect.objectContaining({ outcome: 'channel_refused', providerStatus: 535, providerCode: '5.7.8' }),
  )
  expect(JSON.stringify(timeline.events)).toContain('Authentication credentials invalid')
  const channels = await listChannels(service.runtime.db, account.accountId)
  expect(JSON.stringify(channels.find((channel) => channel.channelId === channelId))).toContain(
    'Authentication credentials invalid',
  )
  expect(mailTo('waiting')).toBeUndefined()
})
