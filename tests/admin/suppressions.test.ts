import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { addSuppression, eraseSuppressions, listSuppressions } from '../../db/suppression/entries.ts'
import { shownSuppressions } from '../../db/suppression/shown-entries.ts'
import { startTestAdmin, type TestAdmin } from '../support/admin.ts'
import { type Account, buildAccount, newContact } from '../support/builders.ts'
import { runCli } from '../support/cli.ts'
import { expectOnlyOurMarkup, getPage } from '../support/pages.ts'
import { startTestService, type TestService, testSuppressionKey } from '../support/service.ts'

let service: TestService
let admin: TestAdmin
let showing: TestAdmin

beforeAll(async () => {
  service = await startTestService()
  admin = await startTestAdmin(service)
  showing = await startTestAdmin(service, { SUPPORT_SHOW_CONTENT: 'true' })
})
afterAll(async () => {
  await admin.stop()
  await showing.stop()
  await service.stop()
})

async function add(
  { accountId }: Account,
  value: string,
  more: { channelId?: string; reason?: string } = {},
) {
  const { entry } = await addSuppression(
    service.runtime.db,
    {
      accountId,
      contact: { type: value.includes('@') ? 'email' : 'phone', value },
      channelId: more.channelId ?? null,
    },
    more.reason ?? null,
    testSuppressionKey,
  )
  return entry
}
const entriesOf = ({ accountId }: Account) => listSuppressions(service.runtime.db, accountId, { limit: 100 })
const list = (fields: Record<string, string>, at = admin.url) =>
  getPage(`${at}/suppressions?${new URLSearchParams(fields)}`)
/** Sends the form of an upload, as a browser does. */
const upload = (fields: Record<string, string>, file?: string | Buffer<ArrayBuffer>) => {
  const body = new FormData()
  for (const [name, value] of Object.entries(fields)) body.append(name, value)
  if (file !== undefined) body.append('file', new File([file], 'list.csv', { type: 'text/csv' }))
  return getPage(`${admin.url}/suppressions/import`, { method: 'POST', headers: { Origin: admin.url }, body })
}
const csvIn = (html: string) => {
  const [, text = ''] = /name="csv" value="([^"]*)"/.exec(html) ?? []
  return text
    .replaceAll('&quot;', '"')
    .replaceAll('&lt;', '<')
    .replaceAll('&gt;', '>')
    .replaceAll('&#39;', "'")
    .replaceAll('&amp;', '&')
}

describe('the list', () => {
  test('has the entries of an account, newest first, masked, and each leads to its contact by an id', async () => {
    const account = await buildAccount(service)
    const [phone, address] = [newContact(), `${newContact().slice(1)}@example.com`]
    const first = await add(account, phone, { reason: 'asked by letter' })
    const second = await add(account, address, { channelId: account.channelId })
    for (const accountId of [account.accountId]) {
      const page = await list({ accountId })
      expect(page.status).toBe(200)
      const links = [...page.html.matchAll(/\/contact\?suppressionId=([0-9a-f-]{36})/g)].map(([, id]) => id)
      expect(links).toEqual([second.suppressionId, first.suppressionId])
      for (const words of ['asked by letter', 'all channels', 'by hand']) expect(page.text).toContain(words)
      for (const contact of [phone, address]) expect(page.html).not.toContain(contact)
      expectOnlyOurMarkup(page.html)
    }
    expect((await list({ accountId: account.accountId }, showing.url)).text).toContain(phone)
    expect((await list({})).text).toContain('Each account has its own list: choose one.')
    const { accountId } = account
    const contact = { type: 'phone', value: phone } as const
    await eraseSuppressions(service.runtime.db, { accountId, contact }, testSuppressionKey)
    const { html } = await list({ accountId }, showing.url)
    expect(html).toContain('>erased</td>')
    expect(html).not.toContain(first.suppressionId)
  })

  test('is narrowed by cause and by channel, paged, and refuses what there isn’t', async () => {
    const account = await buildAccount(service)
    const made: string[] = []
    for (let n = 0; n < 52; n++) made.unshift((await add(account, newContact())).suppressionId)
    const ofChannel = await add(account, newContact(), { channelId: account.channelId })
    const { db } = service.runtime
    await db.$client.query(`update suppressions set cause = 'bounce' where id = $1`, [made[3]])
    const { accountId, channelId } = account
    const ids = (html: string) => [...html.matchAll(/suppressionId=([0-9a-f-]{36})/g)].map(([, id]) => id)
    expect(ids((await list({ accountId, channelId })).html)).toEqual([ofChannel.suppressionId])
    expect(ids((await list({ accountId, cause: 'bounce' })).html)).toEqual([made[3]])
    const first = await list({ accountId })
    const [, next = ''] = /href="(\/suppressions[^"]+)">Older/.exec(first.html) ?? []
    const second = await getPage(admin.url + next.replaceAll('&amp;', '&'))
    expect([...ids(first.html), ...ids(second.html)]).toEqual([ofChannel.suppressionId, ...made])
    for (const [fields, status] of [
      [{ accountId: 'nobody' }, 404],
      [{ accountId, cause: 'x' }, 400],
      [{ accountId, channelId: accountId }, 404],
      [{ accountId, before: 'x' }, 400],
    ] as const)
      expect((await list(fields)).status).toBe(status)
  })

  test('looks at a limited number of entries for a filter, and goes on from there', async () => {
    const account = await buildAccount(service)
    const rare = await add(account, newContact(), { channelId: account.channelId })
    for (let n = 0; n < 5; n++) await add(account, newContact())
    const asked = { channelId: account.channelId, limit: 2 }
    const found: string[] = []
    let before: string | undefined
    let pages = 0
    do {
      const page = await shownSuppressions(service.runtime.db, account.accountId, { ...asked, before }, 2)
      found.push(...page.entries.map(({ suppressionId }) => suppressionId))
      before = page.next
      pages++
    } while (before !== undefined && pages < 10)
    expect([found, pages]).toEqual([[rare.suppressionId], 4])
  })
})

describe('an import', () => {
  test('is shown first, with how many it would add; then it adds exactly these, as the command does', async () => {
    const account = await buildAccount(service)
    const { accountId, channelId } = account
    const [there, phone] = [newContact(), newContact()]
    await add(account, there)
    const file = `\ufeffcontact,channelId,reason\r\n${there},,\r\n${phone},${channelId},"says ""no"", <b>"\r\n\r\nann@example.com,,'=1+1\r\n${phone},${channelId},\r\n`
    const preview = await upload({ accountId }, file)
    expect(preview.status).toBe(200)
    expect(preview.text).toContain('Add 2 entries to the list of Test?')
    expect(preview.text).toContain('Left out: 2 on the list already, or in the file twice.')
    expectOnlyOurMarkup(preview.html)
    expect(await entriesOf(account)).toHaveLength(1)
    const checks = await service.runtime.db.$client.query(
      'select from suppression_checks where account_id = $1 and contact_value is null',
      [accountId],
    )
    expect(checks.rows).toHaveLength(0)

    const done = await upload({ accountId, confirmed: 'yes', csv: csvIn(preview.html) })
    expect(done.text).toContain('Added 2 entries to the list of Test')
    const entries = await entriesOf(account)
    expect(entries.map(({ contactValue, channelId: of, reason }) => [contactValue, of, reason])).toEqual(
      expect.arrayContaining([
        [there, null, null],
        [phone, channelId, 'says "no", <b>'],
        ['ann@example.com', null, '=1+1'],
      ]),
    )
    expect(
      service.logs.filter(
        ({ event, accountId: of }) => event === 'suppressions_imported' && of === accountId,
      ),
    ).toMatchObject([{ added: 2, entries: 4 }])
    expect(JSON.stringify(service.logs)).not.toContain(phone.slice(1))
  })

  test('with faults names their lines, without the contacts, and adds nothing', async () => {
    const account = await buildAccount(service)
    const { accountId } = account
    const page = await upload(
      { accountId },
      `contact,channelId,reason\n${newContact()},,\n12,,\n${newContact()},${accountId},\n`,
    )
    expect(page.status).toBe(400)
    expect(page.text).toContain('line 3: contact: has to be a phone number')
    expect(page.text).toContain('line 4: channelId: the account has no such channel')
    for (const [file, words] of [
      ['a,b', 'line 1: has to be contact,channelId,reason'],
      ['contact,channelId,reason\n', 'there are no entries'],
    ] as const)
      expect((await upload({ accountId }, file)).text).toContain(words)
    expect((await upload({ accountId })).status).toBe(400)
    const odd = Buffer.from('contact,channelId,reason\nann@example.com,,gel\u00f6scht\n', 'latin1')
    expect((await upload({ accountId }, odd)).text).toContain('Nothing was imported: line 2 is not UTF-8')
    expect(await entriesOf(account)).toEqual([])
  })
})

test('an export has each entry as a record that runs nothing in a spreadsheet, and an import reads it again', async () => {
  const account = await buildAccount(service)
  const [phone, address] = [newContact(), '-dash@example.com']
  await add(account, phone, { reason: '=HYPERLINK("x")' })
  await add(account, address, { channelId: account.channelId })
  const csv = async (at: string) =>
    await (await fetch(`${at}/suppressions.csv?accountId=${account.accountId}`)).text()
  const whole = await csv(showing.url)
  expect(whole).toBe(
    `contact,channelId,reason\r\n"'${phone}",,"'=HYPERLINK(""x"")"\r\n"'${address}","${account.channelId}",\r\n`,
  )
  const marked = await fetch(`${showing.url}/suppressions.csv?accountId=${account.accountId}&bom=true`)
  expect(Buffer.from(await marked.arrayBuffer()).toString()).toBe(`\ufeff${whole}`)
  expect(await csv(admin.url)).not.toContain(phone)
  const other = await buildAccount(service)
  const preview = await upload(
    { accountId: other.accountId },
    whole.replace(account.channelId, other.channelId),
  )
  expect(preview.text).toContain('Add 2 entries')
  await upload({ accountId: other.accountId, confirmed: 'yes', csv: csvIn(preview.html) })
  expect((await entriesOf(other)).map(({ contactValue }) => contactValue).sort()).toEqual(
    [phone, address].sort(),
  )
  const { stdout } = await runCli(service, 'suppression', 'list', '--account', other.accountId)
  expect(JSON.parse(stdout).suppressions).toHaveLength(2)
})

test('a file of 1 MiB with short lines that has a preview can be imported, though a form sends longer line ends', async () => {
  const { accountId } = await buildAccount(service)
  const header = 'contact,channelId,reason\n'
  const line = '+4915112345,,\n'
  const csv = header + line.repeat(Math.floor((1_048_576 - header.length) / line.length))
  const preview = await upload({ accountId }, csv)
  expect([preview.status, (await upload({ accountId }, `${csv}${line}`)).status]).toEqual([200, 413])
  const done = await upload({ accountId, confirmed: 'yes', csv: csvIn(preview.html) })
  expect(done.status).toBe(200)
  expect(done.text).toContain('Added 1 entry')
})

// The last one: the server closes the connection, which another request might be using.
test('a file that is too large is refused, and the command for it is named', async () => {
  const { accountId } = await buildAccount(service)
  const page = await upload({ accountId }, 'x'.repeat(2_400_000))
  expect(page.status).toBe(413)
  expect(page.text).toContain('outbound suppression import')
})
