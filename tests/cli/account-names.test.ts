import { expect, test } from 'vitest'
import { createAccount } from '../../db/accounts/accounts.ts'
import { runCli } from '../support/cli.ts'
import { serviceOfFile } from '../support/service.ts'

const service = await serviceOfFile()
const { db } = service.runtime

async function create(name: string) {
  const { status, stdout } = await runCli(service, 'account', 'create', '--name', name)
  expect(status).toBe(0)
  return JSON.parse(stdout)
}

test('an account whose name no other has is created without a warning', async () => {
  expect(await create('Only one')).toEqual({ accountId: expect.any(String) })
})

test.each(['Zoé Ltd', 'ZOÉ LTD', 'zoe\u0301 ltd', ' Zoé Ltd ', 'Zo\u200bé\u2060 Ltd\ufeff'])(
  'whoever creates an account is told which one has its name, in whatever case and form of its letters: "%s"',
  async (again) => {
    const id = await createAccount(db, 'Zoé Ltd')
    const { warnings } = await create(again)
    expect(warnings).toContain(`The account ${id} has this name, too.`)
  },
)
