import { expect, test } from 'vitest'
import { sends } from '../../db/schema.ts'
import { buildSendRow } from '../support/attempts.ts'
import { buildAccount, newContact } from '../support/builders.ts'
import { startCli } from '../support/cli.ts'
import { serviceOfFile } from '../support/service.ts'

const service = await serviceOfFile()
const account = await buildAccount(service)

const run = async (...args: string[]) => {
  const { stdout, stderr } = await startCli(service, {}, ...args).ended
  expect(stderr).toBe('')
  return stdout
}
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
