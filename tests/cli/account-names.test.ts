import { expect, test } from 'vitest'
import { createAccount, listAccounts } from '../../db/accounts/accounts.ts'
import { runCli } from '../support/cli.ts'
import { serviceOfFile } from '../support/service.ts'

const service = await serviceOfFile()
const { db } = service.runtime

const create = (name: string) => runCli(service, 'account', 'create', '--name', name)
const namesLike = async (part: string) =>
  (await listAccounts(db)).map(({ name }) => name).filter((name) => name.includes(part))

test.each(['Zoé Ltd', 'ZOÉ LTD', 'zoe\u0301 ltd', ' Zoé Ltd '])(
  'an account is not created twice, in whatever case and form of its letters: "%s"',
  async (again) => {
    const [first] = (await listAccounts(db)).filter(({ name }) => name === 'Zoé Ltd')
    const accountId = first?.accountId ?? JSON.parse((await create('Zoé Ltd')).stdout).accountId
    const before = await listAccounts(db)
    expect(await create(again)).toEqual({
      status: 4,
      stdout: '',
      stderr: `There is an account named ${again} already, ${accountId}: use it, or choose another name\n`,
    })
    expect(await listAccounts(db)).toEqual(before)
  },
)

test('of many creations of one name at a time one succeeds, and the others name its account', async () => {
  const results = await Promise.all(Array.from({ length: 8 }, () => create('Raced')))
  const [created, ...others] = results.toSorted((one, other) => one.status - other.status)
  expect(created?.status).toBe(0)
  for (const { status, stderr } of others) {
    expect(status).toBe(4)
    expect(stderr).toContain(JSON.parse(created?.stdout ?? '').accountId)
  }
  expect(await namesLike('Raced')).toEqual(['Raced'])
})

test('accounts that share a name from before go on, and can be told apart by id', async () => {
  const ids = [await createAccount(db, 'Twin'), await createAccount(db, 'Twin')]
  for (const id of ids)
    expect(await runCli(service, 'account', 'update', id, '--rate-limit', '5/60')).toMatchObject({
      status: 0,
    })
  expect((await create('twin')).stderr).toContain(ids[0])
})
