import { expect, test } from 'vitest'
import { createAccount } from '../../db/accounts/accounts.ts'
import { listChannels } from '../../db/accounts/channels.ts'
import { callRate, limit } from '../../src/cli/arguments.ts'
import { buildChannel } from '../support/builders.ts'
import { runCli } from '../support/cli.ts'
import { serviceOfFile } from '../support/service.ts'

const service = await serviceOfFile()
const accountId = await createAccount(service.runtime.db, 'Acme')
const channelId = await buildChannel(service, accountId)

/** Runs a command that has to succeed. */
async function ask(...args: string[]) {
  const { status, stdout, stderr } = await runCli(service, ...args)
  expect({ status, stderr }).toEqual({ status: 0, stderr: '' })
  return JSON.parse(stdout)
}

const create = (...options: string[]) =>
  ask('channel', 'create', ...`--account ${accountId} --provider sandbox --name Box`.split(' '), ...options)

async function channelOf(id: string) {
  const channels = await listChannels(service.runtime.db, accountId)
  return channels.find((channel) => channel.channelId === id)
}

const noLimits = {
  ordering: 'contact',
  rateCalls: null,
  rateSeconds: null,
  maxInFlight: null,
  breakerOpenUntil: null,
}

test("by default a channel has no limits, and each contact's sends are in order", async () => {
  const { channelId: plain } = await create('--config', '{}')
  expect(await channelOf(plain)).toMatchObject(noLimits)
  const limits = ['--rate', '80/1', '--max-in-flight', '4', '--ordering', 'none']
  const { channelId: limited } = await create('--config', '{}', ...limits)
  expect(await channelOf(limited)).toMatchObject({
    ...noLimits,
    ordering: 'none',
    rateCalls: 80,
    rateSeconds: 1,
    maxInFlight: 4,
  })
  const nothing = ['--rate', 'none', '--max-in-flight', 'none', '--ordering', 'contact']
  const { channelId: unlimited } = await create('--config', '{}', ...nothing)
  expect(await channelOf(unlimited)).toMatchObject(noLimits)
})

test('channel update changes the limits that it names and takes them away with none', async () => {
  expect(await ask('channel', 'update', channelId, '--rate', '1000/60')).toEqual({ channelId })
  expect(await channelOf(channelId)).toMatchObject({ ...noLimits, rateCalls: 1000, rateSeconds: 60 })
  await ask('channel', 'update', channelId, '--max-in-flight', '2', '--ordering', 'none')
  const all = { ...noLimits, ordering: 'none', rateCalls: 1000, rateSeconds: 60, maxInFlight: 2 }
  expect(await channelOf(channelId)).toMatchObject(all)
  await ask('channel', 'update', channelId, '--rate', 'none')
  expect(await channelOf(channelId)).toMatchObject({ ...all, rateCalls: null, rateSeconds: null })
  await ask('channel', 'update', channelId, '--max-in-flight', 'none', '--ordering', 'contact')
  expect(await channelOf(channelId)).toMatchObject(noLimits)
})

test('channel list shows the limits', async () => {
  const { channelId: limited } = await create('--config', '{}', '--rate', '80/1', '--max-in-flight', '4')
  const { channels } = await ask('channel', 'list', '--account', accountId)
  expect(channels).toContainEqual(
    expect.objectContaining({
      ...noLimits,
      channelId: limited,
      rateCalls: 80,
      rateSeconds: 1,
      maxInFlight: 4,
    }),
  )
})

test.each([
  ['--rate', '80', 'N/SECONDS, e.g. 80/1'],
  ['--max-in-flight', '0', 'whole number from 1 to 2147483647'],
  ['--ordering', 'fifo', 'contact, none'],
])(
  '%s %s is refused in one line that says what to use, by create and by update',
  async (option, value, hint) => {
    const before = await listChannels(service.runtime.db, accountId)
    const created = ['--account', accountId, '--provider', 'sandbox', '--name', 'x', '--config', '{}']
    const commands = [
      ['channel', 'update', channelId],
      ['channel', 'create', ...created],
    ]
    for (const ran of commands.map((command) => runCli(service, ...command, option, value))) {
      const { status, stdout, stderr } = await ran
      expect({ status, stdout }).toEqual({ status: 64, stdout: '' })
      expect(stderr.trim().split('\n')).toHaveLength(1)
      expect(stderr).toContain(option)
      expect(stderr).toContain(hint)
    }
    expect(await listChannels(service.runtime.db, accountId)).toEqual(before)
  },
)

test.each([
  ['80/1', 80, 1],
  ['1000/1', 1000, 1],
  ['86400000/86400', 86_400_000, 86_400],
  ['1/86400', 1, 86_400],
  ['none', 0, 0],
])('%s is a rate', (text, calls, seconds) => {
  expect(callRate(text)).toEqual({ calls, seconds })
})

test.each(['80/', '/1', '0/1', '80/0', '1001/1', '1/86401', '1.5/1', '-1/1', '80 / 1', '1e3/60', 'x', ''])(
  '"%s" is no rate',
  (text) => {
    expect(() => callRate(text)).toThrow('Use N/SECONDS')
  },
)

test.each(['-1', '1.5', '2147483648', 'x', ''])('"%s" is no limit', (text) => {
  expect(() => limit(text)).toThrow('Use a whole number')
})
