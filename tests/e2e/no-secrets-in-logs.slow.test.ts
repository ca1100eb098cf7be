import { once } from 'node:events'
import { createServer } from 'node:http'
import { v7 as uuidv7 } from 'uuid'
import { expect, test } from 'vitest'
import { createChannel } from '../../db/accounts/channels.ts'
import { sealConfig } from '../../src/core/channels/sealed-config.ts'
import {
  type EmulatedProvider,
  emulatedProviders,
  startEmulators,
  stopEmulators,
} from '../../src/dev/world/emulators.ts'
import { providers } from '../../src/providers/index.ts'
import type { TwilioEmulator } from '../../src/providers/twilio/dev/emulator.ts'
import { type Account, accept, buildAccount, post } from '../support/builders.ts'
import { runCli } from '../support/cli.ts'
import { dumpDatabase, dumpRedis } from '../support/dumps.ts'
import { buildEndpoint, endpointRow } from '../support/endpoints.ts'
import { samples } from '../support/media-samples.ts'
import { buildProviderChannel } from '../support/provider-channel.ts'
import { finishedTimeline, serviceOfFile, testSecrets } from '../support/service.ts'
import { eventually } from '../support/wait.ts'

const content = 'Zebrastreifen'
const contactName = 'Rumpelstilz'
const phone = '+4915155501234'
const address = 'knusperhaus@example.com'
const secret = `whsec_${Buffer.from('a secret that is 32 bytes long!!').toString('base64')}`
const hostileField = `field-${content}`

const service = await serviceOfFile({
  ALLOWED_PRIVATE_NETWORKS: '127.0.0.0/8',
  CLIENT_PRIVATE_NETWORKS: '127.0.0.0/8',
  PUBLIC_BASE_URL: 'http://127.0.0.1:1',
})
const account = await buildAccount(service)

/** Fails in every way, and repeats in its answers what it was sent. @returns its URL. */
async function openFailingReceiver(): Promise<string> {
  const answers = [500, 429, 400, 410, 200]
  let turn = 0
  const receiver = createServer((request, response) => {
    const chunks: Buffer[] = []
    request.on('data', (chunk) => chunks.push(chunk))
    request.on('end', () => {
      const status = answers[turn++ % answers.length] ?? 200
      response.writeHead(status, { 'retry-after': '0' }).end(Buffer.concat(chunks))
    })
  }).listen(0, '127.0.0.1')
  await once(receiver, 'listening')
  const { port } = receiver.address() as { port: number }
  return `http://127.0.0.1:${port}/`
}

async function buildFailingChannel(): Promise<string> {
  const id = uuidv7()
  const config = { url: `${await openFailingReceiver()}?token=${content}`, secret }
  const sealedConfig = sealConfig(config, id, Buffer.from(testSecrets.CREDENTIALS_KEY, 'base64'))
  const { accountId } = account
  const fields = { provider: 'webhook', name: 'x', sealedConfig, onUncertain: 'resend' } as const
  await createChannel(service.runtime.db, { id, accountId, ...fields })
  return id
}

/** The tables that are a send's own: what it says and to whom, whom its conversation is with, what the sandbox got. */
const ownTables = ['public.sends', 'public.media', 'public.conversations', 'public.sandbox_messages']

/** All that is logged and stored. */
interface Texts {
  /** The logs of API and workers, all of Redis, and all of PostgreSQL but the sends' own tables. */
  elsewhere: string
  /** That, these tables, and PostgreSQL's own notes: samples of columns, and statements. */
  anywhere: string
}

async function allTexts(): Promise<Texts> {
  const { $client: database } = service.runtime.db
  const dump = await dumpDatabase(service)
  expect(Object.keys(dump)).toEqual(expect.arrayContaining([...ownTables, 'public.send_events']))
  await database.query('analyze')
  const { rows: samples } = await database.query(`select * from pg_stats where schemaname = 'public'`)
  const { rows: statements } = await database.query(
    'select query from pg_stat_activity where datname = current_database()',
  )
  const others = Object.entries(dump).filter(([table]) => !ownTables.includes(table))
  const elsewhere = JSON.stringify([service.logs, await dumpRedis(service), others])
  // Contacts stand there with their conversations, and nothing else of a send.
  for (const hidden of [content, contactName]) expect(dump['public.conversations']).not.toContain(hidden)
  return { elsewhere, anywhere: JSON.stringify([elsewhere, dump, samples, statements]) }
}

/** As they are, in base64, and in hex. */
const inEveryForm = (text: string) =>
  (['utf8', 'base64', 'base64url', 'hex'] as const).map((form) => Buffer.from(text).toString(form))

/** Must be found nowhere. */
function secretsOf({ apiKey }: Account): string[] {
  const { API_KEY_PEPPER, CREDENTIALS_KEY } = testSecrets
  const texts = [secret, apiKey, apiKey.slice(4, 30), API_KEY_PEPPER, CREDENTIALS_KEY]
  return [...texts.flatMap(inEveryForm), Buffer.from(CREDENTIALS_KEY, 'base64').toString('hex')]
}

test('no secret is in logs, Redis or PostgreSQL, and content and contacts are only in the four tables that may hold them', async () => {
  const failing = await buildFailingChannel()
  const bodies = [
    { contact: { value: phone, name: contactName }, message: { type: 'text', text: { value: content } } },
    {
      contact: { value: address, type: 'email', name: contactName },
      message: { type: 'template', template: { name: 'x', variables: [{ key: content, value: content }] } },
    },
    {
      contact: { value: phone },
      message: {
        type: 'media',
        media: {
          mediaType: 'document',
          base64: Buffer.from(content.repeat(9)).toString('base64'),
          caption: content,
        },
      },
      closeConversation: true,
    },
    {
      contact: { value: '+15550100102', name: contactName },
      message: { type: 'text', text: { value: content } },
    },
  ]
  const requestIds: string[] = []
  for (const body of bodies) {
    requestIds.push(await accept(service, account, body))
    await accept(service, { ...account, channelId: failing }, body)
  }
  // Refused in every stage, with what must not be repeated in odd places.
  await post(service, account, { contact: { value: phone, [hostileField]: 1 }, message: { type: content } })
  await post(service, account, `{"${content}": ${phone}`)
  await post(
    service,
    { ...account, apiKey: account.apiKey.replace(/.$/, (last) => (last === 'x' ? 'y' : 'x')) },
    bodies[0],
  )
  await post(service, { ...account, channelId: content }, bodies[0])
  const queued = await dumpRedis(service)
  await service.startWorker()
  for (const requestId of requestIds) await finishedTimeline(service, requestId, account.apiKey)

  const { elsewhere, anywhere } = await allTexts()
  expect(elsewhere).toContain('attempt_finished')
  expect(queued).toContain(requestIds[0])
  for (const shown of [content, phone, address]) expect(anywhere).toContain(shown)
  const base64 = Buffer.from(content.repeat(9)).toString('base64').slice(0, 24)
  for (const hidden of [content, contactName, phone, phone.slice(1), address, 'knusperhaus', base64]) {
    expect(queued + elsewhere).not.toContain(hidden)
  }
  for (const hidden of secretsOf(account)) expect(queued + anywhere).not.toContain(hidden)
})

/** The secrets in the config of any provider, by the end of the field's name. */
const credentialsOf = (config: object): [string, string][] =>
  Object.entries(config).filter(([field]) => /(pass|secret|token|key)$/i.test(field))

/** A credential of the same form, but of no account. */
const otherThan = (credential: string) =>
  credential.slice(0, 7) + (credential[7] === 'b' ? 'c' : 'b') + credential.slice(8)

function bodiesFor(provider: EmulatedProvider): object[] {
  const { contactTypes, messageTypes } = providers[provider]
  const reachesPhones = contactTypes.includes('phone')
  const contact = reachesPhones ? { value: phone, name: contactName } : { value: address, type: 'email' }
  const media = { mediaType: 'image', base64: samples.png.toString('base64'), caption: content }
  const text = { type: 'text', text: { value: content } }
  return [
    { contact, message: text },
    { contact, message: messageTypes.includes('media') ? { type: 'media', media } : text },
  ]
}

/** All that the operator's commands print about this. */
async function allThatIsPrinted(requestId: string): Promise<string> {
  const commands = [
    ['channel', 'list', '--account', account.accountId],
    ['endpoint', 'list', '--account', account.accountId],
    ['key', 'list', '--account', account.accountId],
    ['trace', requestId],
    ['credentials', 'rotate'],
  ]
  const results = await Promise.all(commands.map((command) => runCli(service, ...command)))
  expect(results.map(({ status }) => status)).toEqual(commands.map(() => 0))
  return JSON.stringify(results)
}

test('no credential of a provider is, whether the provider accepts it or not, nor a media link', async () => {
  const emulators = await startEmulators()
  const contents = [content, contactName, phone, phone.slice(1), address, 'knusperhaus', '/media/']
  const secrets = new Set(secretsOf(account))
  const requestIds: string[] = []
  for (const provider of emulatedProviders) {
    const { config } = emulators[provider]
    const credentials = credentialsOf(config)
    expect(credentials).not.toEqual([])
    const others = credentials.map(([field, value]): [string, string] => [field, otherThan(value)])
    for (const changes of [{}, Object.fromEntries(others)]) {
      const channelId = await buildProviderChannel(service, account.accountId, provider, {
        ...config,
        ...changes,
      })
      for (const body of bodiesFor(provider))
        requestIds.push(await accept(service, { ...account, channelId }, body))
    }
    for (const [, value] of [...credentials, ...others])
      for (const form of inEveryForm(value)) secrets.add(form)
  }
  const isTried = (id: string) => service.logsOf(id).some(({ event }) => event === 'attempt_finished')
  const firstOfEachChannel = requestIds.filter((_, index) => index % 2 === 0)
  await eventually('all channels are tried', async () => firstOfEachChannel.every(isTried))
  await eventually('half of them let us in', async () => {
    const isSent = (id: string) => service.logsOf(id).some(({ event }) => event === 'sent')
    return requestIds.filter(isSent).length === requestIds.length / 2
  })
  const link = (emulators.twilio as TwilioEmulator).calls.map(({ form }) => form.MediaUrl).find(Boolean) ?? ''
  expect((await fetch(service.url + new URL(link).pathname)).status).toBe(200)
  secrets.add(link.slice(link.lastIndexOf('/') + 1)).add(link.slice(link.lastIndexOf('.') + 1))
  const { elsewhere, anywhere } = await allTexts()
  const printed = await allThatIsPrinted(requestIds[0] ?? '')
  for (const text of contents) expect(elsewhere + printed).not.toContain(text)
  for (const text of secrets) expect(anywhere + printed).not.toContain(text)
  await stopEmulators(emulators)
})

test('no secret of an endpoint is, whatever it answers, and its callbacks have neither content nor contacts', async () => {
  const endpoint = await buildEndpoint(service, account.accountId, await openFailingReceiver())
  const { status, stdout } = await runCli(service, 'endpoint', 'rotate-secret', endpoint.endpointId)
  expect(status).toBe(0)
  const secrets = [endpoint.secret, JSON.parse(stdout).secret as string]
  const body = {
    contact: { value: phone, name: contactName },
    message: { type: 'text', text: { value: content } },
  }
  const requestIds: string[] = []
  for (let send = 0; send < 6; send++) requestIds.push(await accept(service, account, body))
  // By its fourth answer.
  await eventually('it is disabled', async () => (await endpointRow(service, endpoint)).disabledAt !== null)
  for (const event of ['callback_failed', 'endpoint_disabled'])
    expect(service.logs.find((line) => line.event === event)).toMatchObject({
      endpointId: endpoint.endpointId,
    })

  const { elsewhere, anywhere } = await allTexts()
  const printed = await allThatIsPrinted(requestIds[0] ?? '')
  expect(printed).toContain(endpoint.endpointId)
  for (const hidden of [content, contactName, phone, phone.slice(1)])
    expect(elsewhere + printed).not.toContain(hidden)
  const bytes = secrets.map((one) => one.slice('whsec_'.length))
  const hexOf = (base64: string) => Buffer.from(base64, 'base64').toString('hex')
  for (const hidden of [...secrets, ...bytes].flatMap(inEveryForm).concat(bytes.map(hexOf)))
    expect(anywhere + printed).not.toContain(hidden)
})
