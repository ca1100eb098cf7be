import { v7 as uuidv7 } from 'uuid'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { recordAudit } from '../../db/audit/record.ts'
import { recordRefused } from '../../db/audit/refused.ts'
import { keepSandboxMessage } from '../../db/sends/sandbox-messages.ts'
import { addSuppression } from '../../db/suppression/entries.ts'
import { newId } from '../../src/core/requests/new-id.ts'
import { startTestAdmin, type TestAdmin } from '../support/admin.ts'
import { type Account, accept, buildAccount, newContact, textBody } from '../support/builders.ts'
import { getPage } from '../support/pages.ts'
import { startTestService, type TestService, testSuppressionKey } from '../support/service.ts'

let service: TestService
let admin: TestAdmin
let account: Account

beforeAll(async () => {
  service = await startTestService()
  admin = await startTestAdmin(service)
  account = await buildAccount(service)
})
afterAll(async () => {
  await admin.stop()
  await service.stop()
})

const textOf = async (path: string) => (await getPage(admin.url + path)).text
/** More than a page has. */
const many = 53

test('the audit says how many rows it has, of all, of a target, and of an action', async () => {
  const [target, other] = [uuidv7(), uuidv7()]
  const row = { by: 'Ann', via: 'cli', address: null, action: 'channel.hold' } as const
  for (let n = 0; n < many; n++) await recordAudit(service.runtime.db, { ...row, target })
  await recordAudit(service.runtime.db, { ...row, action: 'channel.resume', target })
  await recordAudit(service.runtime.db, { ...row, by: 'Ben', target: other })
  expect(await textOf(`/audit?target=${target}`)).toContain(`${many + 1} rows of who did what`)
  expect(await textOf(`/audit?target=${target}&action=channel.resume`)).toContain('1 row of who')
  expect(await textOf('/audit?by=Ann')).toContain(`${many + 1} rows of`)
  expect(await textOf('/audit?by=Ben')).toContain('1 row of')
  expect(await textOf('/audit?to=2020-01-01T00:00')).toContain('0 rows of')
})

test('the refused requests say how many they are, of an account and of a status', async () => {
  const request = { at: new Date(), message: 'no', route: 'GET /v1/key', fields: [], keyId: account.keyId }
  const refused = Array.from({ length: many }, () => ({ ...request, requestId: newId(), status: 400 }))
  await recordRefused(service.runtime.db, [...refused, { ...request, requestId: newId(), status: 404 }])
  const ofAccount = `/refused?account=${account.accountId}`
  expect(await textOf(ofAccount)).toContain(`${many + 1} requests that the API answered 4xx`)
  expect(await textOf(`${ofAccount}&status=404`)).toContain('1 request that the API')
  const other = await buildAccount(service)
  expect(await textOf(`/refused?account=${other.accountId}`)).toContain('0 requests that')
  expect(await textOf('/refused?account=')).toContain(`${many + 1} requests that`)
})

test('the suppressions of an account say how many they are, and how many of a channel', async () => {
  const add = (channelId: string | null) =>
    addSuppression(
      service.runtime.db,
      { accountId: account.accountId, contact: { type: 'phone', value: newContact() }, channelId },
      null,
      testSuppressionKey,
    )
  for (let n = 0; n < many; n++) await add(null)
  await add(account.channelId)
  const list = `/suppressions?accountId=${account.accountId}`
  expect(await textOf(list)).toContain(`${many + 1} entries of contacts`)
  expect(await textOf(`${list}&channelId=${account.channelId}`)).toContain('1 entry of contacts')
})

test('the inbox says how many messages it has', async () => {
  const message = {
    requestId: newId(),
    channelId: account.channelId,
    conversationId: newId(),
    contactType: 'phone',
    contactValue: newContact(),
    message: { type: 'text', text: { value: 'Hello' } },
  } as const
  for (let n = 0; n < many; n++) await keepSandboxMessage(service.runtime.db, message)
  expect(await textOf('/inbox')).toContain(`${many} messages that the sandbox received`)
})

test('what waits of a channel is counted by priority, unless all of it is normal, and each number leads to its list', async () => {
  const { channelId, ...one } = await buildAccount(service)
  const send = (priority: string) => accept(service, { ...one, channelId }, { ...textBody(), priority })
  await send('normal')
  const page = async () => await getPage(`${admin.url}/channels/${channelId}`)
  expect((await page()).text).not.toContain('1 normal')
  for (const priority of ['bulk', 'bulk', 'urgent']) await send(priority)
  const { text, html } = await page()
  expect(text).toMatch(/1 urgent ?, 1 normal ?, 2 bulk/)
  const [, link = ''] = /<a href="([^"]*)">2 bulk/.exec(html) ?? []
  expect(await textOf(link.replaceAll('&amp;', '&'))).toContain('2 sends')
})
