import { expect, test } from 'vitest'
import { createAccount, listAccounts } from '../../db/accounts/accounts.ts'
import { listChannels } from '../../db/accounts/channels.ts'
import { buildChannel } from '../support/builders.ts'
import { runCli } from '../support/cli.ts'
import { serviceOfFile } from '../support/service.ts'

const service = await serviceOfFile()
const { db } = service.runtime
const accountId = await createAccount(db, 'Acme')
const channelId = await buildChannel(service, accountId)
const owners = { account: accountId, channel: channelId }
type Owner = keyof typeof owners

const update = (of: Owner, ...options: string[]) => runCli(service, of, 'update', owners[of], ...options)

const ceilingsOf = async (of: Owner) =>
  of === 'account'
    ? (await listAccounts(db)).find((one) => one.accountId === accountId)?.ceilings
    : (await listChannels(db, accountId))[0]?.ceilings

const owner = ['account', 'channel'] as const

test.each(owner)(
  'ceilings of an %s are given one by one, replace those before, and are taken off',
  async (of) => {
    const change = async (...options: string[]) => {
      const { status, stderr } = await update(of, ...options)
      expect({ status, stderr }).toEqual({ status: 0, stderr: '' })
      return await ceilingsOf(of)
    }
    const four = ['500 segments/hour', '10 messages/day', '1000 segments / day', '9 messages/month']
    expect(await change(...four.flatMap((text) => ['--ceiling', text]))).toEqual([
      '500 segments/hour',
      '10 messages/day',
      '1000 segments/day',
      '9 messages/month',
    ])
    expect(await change('--ceiling', '1 message/hour')).toEqual(['1 messages/hour'])
    expect(await change('--ceiling', 'none')).toBeNull()
  },
)

test('a new account and a new channel have the ceilings that they are given, and the audit says which', async () => {
  const account = await runCli(service, 'account', 'create', '--name', 'New', '--ceiling', '5 messages/day')
  const { accountId: id } = JSON.parse(account.stdout)
  expect((await listAccounts(db)).find((one) => one.accountId === id)?.ceilings).toEqual(['5 messages/day'])
  const options = ['--account', id, '--provider', 'sandbox', '--name', 'New', '--config', '{}']
  const channel = await runCli(service, 'channel', 'create', ...options, '--ceiling', '7 segments/hour')
  expect(channel.status).toBe(0)
  expect((await listChannels(db, id))[0]?.ceilings).toEqual(['7 segments/hour'])
  const { stdout } = await runCli(service, 'audit', 'list', '--target', JSON.parse(channel.stdout).channelId)
  expect(stdout).toContain('7 segments/hour')
})

test.each([
  ['10 messages'],
  ['messages/day'],
  ['0 messages/day'],
  ['-1 messages/day'],
  ['1.5 messages/day'],
  ['99999999999 messages/day'],
  ['10 calls/day'],
  ['10 messages/week'],
  ['10 message/day'],
  [''],
  ['10 messages/day', '20 messages/day'],
  ['none', '10 messages/day'],
  ['1 messages/hour', '1 messages/day', '1 messages/month', '1 segments/hour', '1 segments/day'],
])('--ceiling %j %j is refused in one line, and nothing changes', async (...texts) => {
  for (const of of owner) {
    await update(of, '--ceiling', '3 segments/month')
    const { status, stderr } = await update(of, ...texts.flatMap((text) => ['--ceiling', text]))
    expect({ status, lines: stderr.trim().split('\n').length }).toEqual({ status: 64, lines: 1 })
    expect(stderr).toMatch(/such as "10000 messages\/day"|At most 4 ceilings|Two ceilings of messages\/day/)
    expect(await ceilingsOf(of)).toEqual(['3 segments/month'])
  }
})

test('account update without an option is refused', async () => {
  expect(await update('account')).toMatchObject({
    status: 64,
    stderr: expect.stringContaining('Nothing to change'),
  })
})
