import { expect, test } from 'vitest'
import { sends } from '../../db/schema.ts'
import { buildSendRow } from '../support/attempts.ts'
import { buildAccount, buildChannel, newContact } from '../support/builders.ts'
import { runCli, runCliWith, startCli } from '../support/cli.ts'
import { buildProviderChannel } from '../support/provider-channel.ts'
import { serviceOfFile } from '../support/service.ts'

const service = await serviceOfFile()
const account = await buildAccount(service)

const run = async (...args: string[]) => {
  const { stdout, stderr } = await startCli(service, {}, ...args).ended
  expect(stderr).toBe('')
  return stdout
}
const failure = async (...args: string[]) => (await runCli(service, ...args)).stderr
const cancel = (reference: string) => run('cancel', '--account', account.accountId, '--reference', reference)

test('a cancel of a set that cancels nothing says how its sends ended, or that there is none', async () => {
  const end = { finishedAt: new Date(), reference: 'order-1' }
  await service.runtime.db
    .insert(sends)
    .values([
      buildSendRow(account, { ...end, status: 'sent' }),
      buildSendRow(account, { ...end, status: 'sent' }),
      buildSendRow(account, { ...end, status: 'failed', failure: 'no such number' }),
    ])
  expect(await cancel('order-1')).toContain('Left out: 2 were sent already; 1 has failed.')
  expect(await cancel('order-2')).toContain('The account has no such send')
})

test('a replay of a set that replays nothing says why', async () => {
  const set = ['replay', '--channel', account.channelId, '--status', 'uncertain'] as const
  expect(await run(...set)).toContain('No send has this state')
  expect(await run(...set, '--dry-run')).toMatch(/would replay +0\nNo send has/)
})

test('an erasure that erases nothing says why', async () => {
  const erase = ['contact', 'erase', '--account', account.accountId, '--contact'] as const
  expect(await run(...erase, newContact())).toContain('The account has no send to this contact')
  const contactValue = newContact()
  await service.runtime.db.insert(sends).values(buildSendRow(account, { contactValue }))
  expect(await run(...erase, contactValue)).toContain('Left out: 1 has not ended')
})

test('suppressing somebody who is suppressed says why and since when, and that nothing was added', async () => {
  const add = ['suppression', 'add', '--account', account.accountId, '--contact', newContact()] as const
  expect(await run(...add, '--reason', 'asked by letter')).not.toContain('Nothing was added')
  const again = await run(...add, '--reason', 'asked by phone')
  expect(again).toMatch(/Nothing was added: the contact has been suppressed since 2\S+Z \(manual\)/)
  expect(again).toContain('asked by letter')
  expect(again).not.toContain('asked by phone')
})

test('a removal of a suppression that removes none says where the contact is suppressed, or who removed it', async () => {
  const contact = ['--account', account.accountId, '--contact', newContact()] as const
  const remove = (...args: string[]) => failure('suppression', 'remove', ...args)
  expect(await remove(...contact)).toContain('the contact is not suppressed')
  await run('suppression', 'add', ...contact, '--channel', account.channelId)
  expect(await remove(...contact)).toContain(`the contact is suppressed on ${account.channelId}`)
  const { stdout } = await runCli(service, 'suppression', 'list', ...contact)
  const { suppressionId } = JSON.parse(stdout).suppressions[0]
  await run('suppression', 'remove', suppressionId)
  expect(await remove(suppressionId)).toMatch(/: .+ removed it at 2\S+Z/)
})

test('a rotation that rotates nothing says that all was sealed before', async () => {
  await run('credentials', 'rotate')
  expect(await run('credentials', 'rotate')).toMatch(
    /rotated +0\n.*\nLeft out: \d+ sealed with CREDENTIALS_KEY before\./,
  )
})

test('a deletion of a channel without waiting sends says that none waited, and that of a deleted one, when it was deleted', async () => {
  const channelId = await buildChannel(service, account.accountId)
  expect(await run('channel', 'delete', channelId)).toMatch(/failed +0\nNo send of the channel waited/)
  expect(await failure('channel', 'delete', channelId)).toMatch(/it was deleted at 2\S+Z/)
})

test('a fetch of receipts that asks for none says why', async () => {
  const config = { accountSid: `AC${'a'.repeat(32)}`, authToken: 'b'.repeat(32), from: '+15005550006' }
  const channelId = await buildProviderChannel(service, account.accountId, 'twilio', config)
  expect(await run('receipts', 'fetch', '--channel', channelId)).toMatch(
    /asked +0\nchanged +0\nNo message .* lacks its delivery state/,
  )
})

test('a fetch of receipts of a channel without a fallback needs no API_KEY_PEPPER', async () => {
  const config = { accountSid: `AC${'a'.repeat(32)}`, authToken: 'b'.repeat(32), from: '+15005550006' }
  const channelId = await buildProviderChannel(service, account.accountId, 'twilio', config)
  const { status } = await runCliWith(
    service,
    { API_KEY_PEPPER: '' },
    'receipts',
    'fetch',
    '--channel',
    channelId,
  )
  expect(status).toBe(0)
})
