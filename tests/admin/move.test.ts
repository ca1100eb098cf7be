import { afterAll, beforeAll, expect, test } from 'vitest'
import { updateChannel } from '../../db/accounts/channels.ts'
import { startTestAdmin, type TestAdmin } from '../support/admin.ts'
import { timelineOf } from '../support/attempts.ts'
import { type Account, accept, buildAccount, newContact, textBody } from '../support/builders.ts'
import { makeDue, moveDue } from '../support/later.ts'
import { expectOnlyOurMarkup, getPage, postForm } from '../support/pages.ts'
import { startTestService, type TestService } from '../support/service.ts'

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

const scheduled = (contact = newContact()) =>
  accept(service, account, {
    ...textBody('Your appointment', contact),
    sendAt: new Date(Date.now() + 3_600_000).toISOString(),
  })
const move = (requestId: string, contact: string) =>
  postForm(`${admin.url}/support/${requestId}/move`, { contact })
const contactOf = async (requestId: string) => (await timelineOf(service, requestId)).contact
const page = (requestId: string, rest = '') => getPage(`${admin.url}/support/${requestId}${rest}`)

test('a scheduled send is given to another contact by its page, and the audit says who did it, without the contact', async () => {
  const [before, after] = [newContact(), newContact()]
  const requestId = await scheduled(before)
  expect((await page(requestId)).html).toContain(`href="/support/${requestId}/move"`)
  const form = await page(requestId, '/move')
  expectOnlyOurMarkup(form.html)
  expect(form.html).not.toContain(before)
  expect((await move(requestId, after)).status).toBe(303)
  expect(await contactOf(requestId)).toMatchObject({ value: after })
  const { text, html } = await page(requestId)
  expect(text).toContain('gave a scheduled send another contact')
  expect(text).toContain('Given to another contact: to be sent at')
  for (const contact of [before, after]) expect(html).not.toContain(contact)
  expect(service.logsOf(requestId).filter(({ event }) => event === 'scheduled')).toHaveLength(2)
})

test.each(['', '12', 'ann@', 'Ann'])('%j is no contact: nothing changes', async (typed) => {
  const requestId = await scheduled()
  const before = await timelineOf(service, requestId)
  const { status, text } = await move(requestId, typed)
  expect([status, text]).toEqual([400, expect.stringContaining('Contact: ')])
  expect(await timelineOf(service, requestId)).toEqual(before)
})

test('a number of a country to which its channel does not send is refused by the page, too', async () => {
  const before = newContact()
  const requestId = await scheduled(before)
  await updateChannel(service.runtime.db, account.channelId, { countries: ['DE'] })
  const { status, text } = await move(requestId, '+43664123456')
  await updateChannel(service.runtime.db, account.channelId, { countries: null })
  expect([status, text]).toEqual([400, expect.stringContaining('sends to numbers of DE only')])
  expect(await contactOf(requestId)).toMatchObject({ value: before })
})

test('a send that is due, or waits for no time, offers no other contact and takes none', async () => {
  const due = await scheduled()
  await makeDue(service, due)
  await moveDue(service)
  for (const requestId of [due, await accept(service, account, textBody())]) {
    const before = await contactOf(requestId)
    expect((await page(requestId)).html).not.toContain(`/support/${requestId}/move`)
    expect((await page(requestId, '/move')).status).toBe(409)
    expect((await move(requestId, newContact())).status).toBe(409)
    expect(await contactOf(requestId)).toEqual(before)
  }
  expect((await page('01890000-0000-7000-8000-000000000000', '/move')).status).toBe(404)
})
