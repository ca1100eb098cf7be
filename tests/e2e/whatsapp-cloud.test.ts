import { afterAll, beforeAll, expect, test } from 'vitest'
import { listChannels } from '../../db/accounts/channels.ts'
import type { Emulator } from '../../src/providers/shared/dev/emulator.ts'
import type { EmulatedAnswer } from '../../src/providers/shared/dev/http-emulator.ts'
import { openWhatsAppEmulator, type WhatsAppCall } from '../../src/providers/whatsapp-cloud/dev/emulator.ts'
import { type Account, accept, buildAccount, textBody } from '../support/builders.ts'
import { runCliWith } from '../support/cli.ts'
import { samples } from '../support/media-samples.ts'
import { finishedTimeline, soonReconciled, startTestService, type TestService } from '../support/service.ts'
import { eventually } from '../support/wait.ts'

let far: Emulator<WhatsAppCall, EmulatedAnswer>
let service: TestService
let account: Account

beforeAll(async () => {
  far = await openWhatsAppEmulator()
  service = await startTestService({ ALLOWED_PRIVATE_NETWORKS: '127.0.0.0/8' })
  account = await buildAccount(service)
  await service.startWorker('test-worker', { times: soonReconciled })
})
afterAll(async () => {
  await service.stop()
  await far.stop()
})

async function cli(...args: string[]) {
  const { status, stdout, stderr } = await runCliWith(
    service,
    { ALLOWED_PRIVATE_NETWORKS: '127.0.0.0/8' },
    ...args,
  )
  expect({ status, stderr }).toEqual({ status: 0, stderr: '' })
  return JSON.parse(stdout)
}

async function createChannel(config: object): Promise<string> {
  const options = `--account ${account.accountId} --provider whatsapp-cloud --name WhatsApp`.split(' ')
  const { channelId } = await cli('channel', 'create', ...options, '--config', JSON.stringify(config))
  return channelId
}

const callsOf = (requestId: string) =>
  far.calls.filter(({ message }) => message?.biz_opaque_callback_data === requestId)

async function sentTimeline(requestId: string) {
  const timeline = await finishedTimeline(service, requestId, account.apiKey)
  expect(timeline).toMatchObject({
    status: 'sent',
    attempts: 1,
    providerMessageId: expect.stringMatching(/^wamid\./),
  })
  return timeline
}

test('a text, a registered template and media are sent by a WhatsApp channel', async () => {
  const channelId = await createChannel(far.config)
  const definition = JSON.stringify({ language: 'de', parameters: ['name', 'code'] })
  await cli('template', 'set', '--channel', channelId, '--name', 'welcome', '--definition', definition)
  const send = (message: object) => accept(service, { ...account, channelId }, { ...textBody(), message })

  const text = await send({ type: 'text', text: { value: 'Hello' } })
  await sentTimeline(text)
  expect(callsOf(text)).toMatchObject([{ message: { text: { body: 'Hello' } } }])

  const variables = [
    { key: 'code', value: '1234' },
    { key: 'name', value: 'Ann' },
  ]
  const template = await send({ type: 'template', template: { name: 'welcome', variables } })
  await sentTimeline(template)
  expect(callsOf(template)).toMatchObject([
    {
      message: {
        template: {
          language: { code: 'de' },
          components: [{ parameters: [{ text: 'Ann' }, { text: '1234' }] }],
        },
      },
    },
  ])

  const base64 = samples.png.toString('base64')
  const media = await send({ type: 'media', media: { mediaType: 'image', base64, filename: 'dot.png' } })
  await sentTimeline(media)
  const { file } = far.calls.find(({ media }) => media)?.media ?? {}
  expect(file).toEqual({ filename: 'dot.png', type: 'image/png', content: samples.png })
  expect(callsOf(media)).toMatchObject([{ message: { image: { id: expect.any(String) } } }])
})

test("a refused token holds the channel, with the provider's reason, until the config is fixed", async () => {
  const channelId = await createChannel({ ...far.config, accessToken: 'EAAJB-revoked' })
  const requestId = await accept(service, { ...account, channelId }, textBody())
  const channel = await eventually('the channel held', async () => {
    const channels = await listChannels(service.runtime.db, account.accountId)
    return channels.find((one) => one.channelId === channelId && one.heldAt)
  })
  const reason =
    'WhatsApp answered 401 with its code 190: Invalid OAuth access token - Cannot parse access token'
  expect(channel.heldReason).toBe(reason)
  const { status, events } = await cli('trace', requestId)
  expect(status).toBe('queued')
  expect(events).toMatchObject([
    { event: 'accepted' },
    { event: 'attempt_started' },
    {
      event: 'attempt_finished',
      outcome: 'channel_refused',
      providerStatus: 401,
      providerCode: '190',
      reason,
    },
    { event: 'channel_held', reason },
  ])
  expect(JSON.stringify(service.logsOf(requestId))).not.toMatch(/EAAJB|15112345678/)

  await cli('channel', 'update', channelId, '--config', JSON.stringify(far.config))
  await cli('channel', 'resume', channelId)
  await sentTimeline(requestId)
  expect(callsOf(requestId)).toHaveLength(2)
})
