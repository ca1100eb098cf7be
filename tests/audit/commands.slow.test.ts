import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { hostname, tmpdir, userInfo } from 'node:os'
import { join } from 'node:path'
import { Command } from 'commander'
import { desc, eq, sql } from 'drizzle-orm'
import { v7 as uuidv7 } from 'uuid'
import { beforeAll, expect, onTestFinished, test } from 'vitest'
import { beginSession, findCredentials } from '../../db/people/sessions.ts'
import { audit, sends } from '../../db/schema.ts'
import { addSuppression } from '../../db/suppression/entries.ts'
import { verbs } from '../../src/cli/verbs.ts'
import {
  type Account,
  accept,
  buildAccount,
  buildChannel,
  newContact,
  textBody,
} from '../support/builders.ts'
import { runCliGiven } from '../support/cli.ts'
import { buildEndpoint } from '../support/endpoints.ts'
import { buildPerson } from '../support/people.ts'
import { finishedTimeline, serviceOfFile, testSuppressionKey } from '../support/service.ts'
import { answer, openWebhookReceiver } from '../support/webhook-receiver.ts'

const service = await serviceOfFile({
  ALLOWED_PRIVATE_NETWORKS: '127.0.0.0/8',
  CLIENT_PRIVATE_NETWORKS: '127.0.0.0/8',
})
const { db } = service.runtime
const rejected = '+15550100103'
let account: Account

beforeAll(async () => {
  account = await buildAccount(service)
  await service.startWorker()
})

const given = {
  settings: { ALLOWED_PRIVATE_NETWORKS: '127.0.0.0/8', CLIENT_PRIVATE_NETWORKS: '127.0.0.0/8' },
  readSecret: () => Promise.resolve('a password, hidden as well'),
}
const run = (...args: string[]) => runCliGiven(service, given, ...args)

async function done(...args: string[]) {
  const { status, stdout, stderr } = await run(...args)
  expect({ status, stderr }).toEqual({ status: 0, stderr: '' })
  return JSON.parse(stdout)
}

const rows = () => db.select().from(audit).orderBy(desc(audit.at), desc(audit.id))
const rowsBy = (name: string) => db.select().from(audit).where(eq(audit.by, name))

const channel = () => buildChannel(service, account.accountId)
const endpoint = async () =>
  (await buildEndpoint(service, account.accountId, 'https://example.com/in')).endpointId
const scheduled = async (more: object = {}) =>
  accept(service, account, { ...textBody(), sendAt: new Date(Date.now() + 3_600_000).toISOString(), ...more })

async function failed(channelId = account.channelId): Promise<string> {
  const requestId = await accept(service, { ...account, channelId }, textBody('Hello', rejected))
  await finishedTimeline(service, requestId, account.apiKey)
  return requestId
}

async function suppressed(): Promise<string> {
  const contact = { type: 'phone', value: newContact() } as const
  const { entry } = await addSuppression(
    db,
    { ...account, contact, channelId: null },
    null,
    testSuppressionKey,
  )
  return entry.suppressionId
}

async function person(name: string): Promise<string> {
  await buildPerson(service, name, 'support')
  return name
}

const csv = () => written('list.csv', `contact,channelId,reason\n${newContact()},,\n`)

async function written(name: string, text: string): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'audit-'))
  onTestFinished(() => rm(folder, { recursive: true }))
  const path = join(folder, name)
  await writeFile(path, text)
  return path
}

async function answeringEndpoint(): Promise<string> {
  const receiver = await openWebhookReceiver()
  onTestFinished(() => receiver.stop())
  return (await buildEndpoint(service, account.accountId, receiver.at(answer(204)))).endpointId
}

const twilio = JSON.stringify({
  accountSid: `AC${'0'.repeat(32)}`,
  authToken: 'secret-token',
  from: '+15550100000',
  statusCallback: true,
})
const askable = async () =>
  (
    await done(
      ...[
        'channel',
        'create',
        '--account',
        account.accountId,
        '--provider',
        'twilio',
        '--name',
        'T',
        '--config',
        twilio,
      ],
    )
  ).channelId

const ofAccount = ['--account']
const reads = 'reads'

/** The arguments of each command that changes something, and the target of its row; null where the command makes it. */
const commands: Record<string, typeof reads | (() => Promise<{ args: string[]; target: string | null }>)> = {
  'account create': async () => ({ args: ['--name', 'Acme', '--rate-limit', '6/60'], target: null }),
  'account list': reads,
  'account update': async () => ({
    args: [account.accountId, '--rate-limit', '7000/60'],
    target: account.accountId,
  }),
  'key create': async () => ({
    args: [...ofAccount, account.accountId, '--permission', 'messages:read'],
    target: null,
  }),
  'key list': reads,
  'key revoke': async () => {
    const { keyId } = await done(
      'key',
      'create',
      '--account',
      account.accountId,
      '--permission',
      'messages:read',
    )
    return { args: [keyId], target: keyId }
  },
  'channel create': async () => ({
    args: [...ofAccount, account.accountId, '--provider', 'twilio', '--name', 'T', '--config', twilio],
    target: null,
  }),
  'channel list': reads,
  'channel update': async () => {
    const target = await channel()
    return { args: [target, '--rate', '80/1', '--config', '{}'], target }
  },
  'channel hold': async () => {
    const target = await channel()
    return { args: [target, '--reason', 'the provider is down'], target }
  },
  'channel resume': async () => {
    const target = await channel()
    return { args: [target], target }
  },
  'channel delete': async () => {
    const target = await channel()
    return { args: [target], target }
  },
  'template set': async () => ({
    args: ['--channel', account.channelId, '--name', 'welcome', '--definition', '{"text":"Hello"}'],
    target: account.channelId,
  }),
  'template list': reads,
  'provider list': reads,
  'provider show': reads,
  'provider schema': reads,
  'provider check': reads,
  'provider try': reads,
  'provider set': async () => ({ args: ['--file', 'src/providers/vendors/telnyx.yaml'], target: 'telnyx' }),
  'provider remove': async () => {
    await run('provider', 'set', '--file', 'src/providers/vendors/telnyx.yaml')
    return { args: ['telnyx'], target: 'telnyx' }
  },
  'flow create': async () => ({ args: [...ofAccount, account.accountId, '--name', 'F'], target: null }),
  'flow delete': async () => {
    const { flowId } = await done('flow', 'create', ...ofAccount, account.accountId, '--name', 'Gone')
    return { args: [flowId], target: flowId }
  },
  'flow list': reads,
  'conversation list': reads,
  'contact erase': async () => ({
    args: [...ofAccount, account.accountId, '--contact', newContact()],
    target: account.accountId,
  }),
  'credentials rotate': async () => ({ args: [], target: null }),
  'receipts fetch': async () => {
    const target = await askable()
    return { args: ['--channel', target], target }
  },
  'endpoint create': async () => ({
    args: [...ofAccount, account.accountId, '--url', 'https://example.com/hidden?token=hidden'],
    target: null,
  }),
  'endpoint list': reads,
  'endpoint update': async () => {
    const target = await endpoint()
    return { args: [target, '--url', 'https://example.org/hidden', '--events', 'message.failed'], target }
  },
  'endpoint enable': async () => {
    const target = await endpoint()
    return { args: [target], target }
  },
  'endpoint disable': async () => {
    const target = await endpoint()
    return { args: [target], target }
  },
  'endpoint delete': async () => {
    const target = await endpoint()
    return { args: [target], target }
  },
  'endpoint rotate-secret': async () => {
    const target = await endpoint()
    return { args: [target], target }
  },
  'endpoint test': async () => {
    const target = await answeringEndpoint()
    return { args: [target], target }
  },
  'callback redeliver': async () => {
    const target = await endpoint()
    return { args: ['--endpoint', target, '--since', '1h'], target }
  },
  'suppression add': async () => ({
    args: [...ofAccount, account.accountId, '--contact', newContact()],
    target: null,
  }),
  'suppression list': reads,
  'suppression remove': async () => {
    const target = await suppressed()
    return { args: [target], target }
  },
  'suppression import': async () => ({
    args: [...ofAccount, account.accountId, '--file', await csv()],
    target: account.accountId,
  }),
  'suppression export': reads,
  trace: reads,
  usage: reads,
  explain: reads,
  export: reads,
  apply: async () => {
    const target = await person('Applied')
    return { args: [await written('people.yaml', `people: [{ name: ${target}, role: reader }]`)], target }
  },
  replay: async () => {
    const target = await failed()
    return { args: [target], target }
  },
  settle: async () => {
    const target = await failed()
    await service.runtime.db.update(sends).set({ status: 'uncertain' }).where(eq(sends.requestId, target))
    return { args: [target, '--as-failed', '--reason', 'not in their log'], target }
  },
  cancel: async () => {
    const target = await scheduled()
    return { args: [target], target }
  },
  'admin-user add': async () => ({ args: ['--name', 'Ann', '--role', 'support'], target: 'Ann' }),
  'admin-user list': reads,
  'admin-user remove': async () => ({ args: [await person('Rob')], target: 'Rob' }),
  'admin-user set-password': async () => ({ args: [await person('Sue')], target: 'Sue' }),
  'admin-user set-role': async () => ({ args: [await person('Tom'), '--role', 'operator'], target: 'Tom' }),
  'admin-user end-sessions': async () => {
    const credentials = await findCredentials(db, await person('Uma'))
    if (credentials)
      await beginSession(db, credentials, { tokenHash: Buffer.from('a token'), address: '192.0.2.1' })
    return { args: ['Uma'], target: 'Uma' }
  },
  'audit list': reads,
  completion: reads,
}

async function leaves(): Promise<string[]> {
  const program = new Command()
  for (const { load } of Object.values(verbs))
    (await load())(
      program,
      async () => {},
      async () => program,
    )
  const namesOf = (command: Command, words: string[]): string[] =>
    command.commands.length === 0
      ? [words.join(' ')]
      : command.commands.flatMap((sub) => namesOf(sub, [...words, sub.name()]))
  return namesOf(program, [])
}

test('for each command it is known whether it changes something', async () => {
  expect(Object.keys(commands).sort()).toEqual((await leaves()).sort())
})

const changing = Object.entries(commands).flatMap(([name, given]) =>
  given === reads ? [] : [{ name, given }],
)

test.each(changing)(
  'outbound $name leaves one row, with who ran it, where, and on what',
  async ({ name, given }) => {
    const { args, target } = await given()
    const by = `ann of ${name}`
    const answered = await done('--as', by, ...name.split(' '), ...args)
    const [row, ...more] = await rowsBy(by)
    expect(more).toEqual([])
    expect(row).toMatchObject({ by, via: 'cli', address: hostname() })
    const made = target ?? Object.values(answered).find((id) => typeof id === 'string')
    if (name !== 'credentials rotate') expect(row?.target).toBe(made)
    // Neither a secret, nor where a URL leads, nor whom it is about.
    const text = JSON.stringify(row)
    for (const hidden of [answered.apiKey, answered.secret, 'secret-token', 'hidden', '+49151'])
      if (hidden !== undefined) expect(text).not.toContain(hidden)
  },
)

test.each([
  [
    'replayed',
    'sends.replay',
    async () => ['replay', '--channel', await channelWithFailed(), '--status', 'failed', '--include-refused'],
  ],
  [
    'canceled by reference',
    'sends.cancel',
    async () => {
      await scheduled({ reference: 'order-4711' })
      return ['cancel', '--account', account.accountId, '--reference', 'order-4711']
    },
  ],
  ['resent of one send', 'send.resend_callbacks', async () => ['callback', 'resend', await failed()]],
] as const)('a set that is %s leaves one row, with how many', async (what, action, args) => {
  const by = `ann ${what}`
  await done('--as', by, ...(await args()))
  expect(await rowsBy(by)).toMatchObject([{ action, details: what === 'replayed' ? { replayed: 1 } : {} }])
  expect(JSON.stringify(await rowsBy(by))).not.toContain('4711')
})

async function channelWithFailed(): Promise<string> {
  const id = await channel()
  await failed(id)
  return id
}

test('what changes nothing leaves no row: a trial, an unknown id, an entry that is there', async () => {
  const contact = newContact()
  const add = ['suppression', 'add', '--account', account.accountId, '--contact', contact]
  await done('--as', 'once', ...add)
  await done('--as', 'nobody', ...add)
  await done('--as', 'nobody', 'replay', '--channel', account.channelId, '--status', 'failed', '--dry-run')
  const unknown = uuidv7()
  for (const args of [
    ['key', 'revoke', unknown],
    ['channel', 'hold', unknown],
    ['channel', 'resume', unknown],
    ['channel', 'delete', unknown],
    ['endpoint', 'enable', unknown],
    ['endpoint', 'disable', unknown],
    ['endpoint', 'delete', unknown],
    ['endpoint', 'update', unknown, '--events', 'all'],
    ['endpoint', 'rotate-secret', unknown],
    ['suppression', 'remove', unknown],
    ['replay', unknown],
    ['cancel', unknown],
  ])
    expect((await run('--as', 'nobody', ...args)).status).toBe(3)
  expect(await rowsBy('nobody')).toEqual([])
  expect(await rowsBy('once')).toHaveLength(1)
})

test('without --as it is the user of the system; a name of several lines is refused', async () => {
  const { channelId } = await done('channel', 'hold', await channel())
  expect((await rows())[0]).toMatchObject({ by: userInfo().username, target: channelId })
  const refused = await run('--as', 'ann\nbob', 'channel', 'resume', channelId)
  expect(refused).toMatchObject({ status: 64, stdout: '' })
  expect(refused.stderr).toContain('--as')
})

test('audit list has the changes of a target, newest first, since a time, and at most as many as asked for', async () => {
  const id = await channel()
  const args = ['audit', 'list', '--target', id]
  await done('--as', 'ann', 'channel', 'hold', id, '--reason', 'down since nine')
  await done('channel', 'resume', id, '--as=bob', '--reason', 'it works again')
  const { entries } = await done(...args)
  expect(entries).toEqual([
    expect.objectContaining({
      by: 'bob',
      action: 'channel.resume',
      target: id,
      details: { reason: 'it works again' },
    }),
    {
      at: expect.any(String),
      by: 'ann',
      via: 'cli',
      address: hostname(),
      action: 'channel.hold',
      target: id,
      targetName: 'Test',
      details: { reason: 'down since nine' },
    },
  ])
  expect((await done(...args, '--limit', '1')).entries).toEqual(entries.slice(0, 1))
  expect((await done('audit', 'list', '--by', 'bob', '--since', '1h')).entries).toEqual(entries.slice(0, 1))
  expect((await done(...args, '--since', new Date(Date.now() + 60_000).toISOString())).entries).toEqual([])
})

test('without its row there is no change: both are one transaction', async () => {
  const id = await channel()
  await db.execute(sql`alter table audit add constraint planted check (by <> 'unrecorded') not valid`)
  onTestFinished(async () => {
    await db.execute(sql`alter table audit drop constraint planted`)
  })
  expect((await run('--as', 'unrecorded', 'channel', 'hold', id)).status).toBe(1)
  const { channels } = await done('channel', 'list', '--account', account.accountId)
  expect(channels.find(({ channelId }: { channelId: string }) => channelId === id).heldAt).toBeNull()
})
