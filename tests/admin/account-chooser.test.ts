import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { createAccount } from '../../db/accounts/accounts.ts'
import { updateChannel } from '../../db/accounts/channels.ts'
import { startTestAdmin, type TestAdmin } from '../support/admin.ts'
import { type Account, accept, buildAccount, textBody } from '../support/builders.ts'
import { getPage } from '../support/pages.ts'
import { startTestService, type TestService } from '../support/service.ts'

let service: TestService
let admin: TestAdmin
let first: Account
let second: Account
let ids: Record<'first' | 'second', string>

beforeAll(async () => {
  service = await startTestService()
  admin = await startTestAdmin(service)
  const { db } = service.runtime
  first = await buildAccount(service)
  second = await buildAccount(service)
  for (const [{ accountId, channelId }, name] of [
    [first, 'Möbel Nord GmbH'],
    [second, 'Möbel Süd GmbH'],
  ] as const) {
    await db.$client.query('update accounts set name = $2 where id = $1', [accountId, name])
    await updateChannel(db, channelId, { name: `Channel of ${name}` })
  }
  ids = { first: await accept(service, first, textBody()), second: await accept(service, second, textBody()) }
})

afterAll(async () => {
  await admin.stop()
  await service.stop()
})

const page = (path: string, cookie = '') => getPage(admin.url + path, { headers: { Cookie: cookie } })
const cookieOf = (headers: Headers) => headers.get('Set-Cookie')?.split(';')[0] ?? ''

describe('the chosen account', () => {
  test.each(['Möbel Nord', 'nord', ' MÖBEL NORD GMBH '])(
    'is found by a part of its name in any case: %j',
    async (typed) => {
      const { status, html } = await page(`/channels?account=${encodeURIComponent(typed)}`)
      expect(status).toBe(200)
      expect(html).toContain('Channel of Möbel Nord')
      expect(html).not.toContain('Channel of Möbel Süd')
    },
  )

  test.each(['/', '/channels', '/sends', '/endpoints', '/refused', '/suppressions', '/contact', '/audit'])(
    'is kept by %s, which shows its name in the box',
    async (path) => {
      const chosen = await page(`/?account=${first.accountId}`)
      expect(chosen.headers.get('Set-Cookie')).toMatch(
        /^account=[0-9a-f-]{36}; Path=\/; HttpOnly; SameSite=Lax$/,
      )
      const { html } = await page(path, cookieOf(chosen.headers))
      expect(html).toContain('value="Möbel Nord GmbH"')
    },
  )

  test('narrows the sends, but not those of a channel that is named, which may be of another account', async () => {
    const cookie = `account=${first.accountId}`
    const own = await page('/sends', cookie)
    expect(own.html).toContain(ids.first)
    expect(own.html).not.toContain(ids.second)
    expect(own.text).toContain('of the account Möbel Nord GmbH')
    expect((await page(`/sends?channelId=${second.channelId}`, cookie)).html).toContain(ids.second)
  })

  test('an empty name means all accounts again', async () => {
    const cleared = await page('/sends?account=', `account=${first.accountId}`)
    expect(cleared.headers.get('Set-Cookie')).toMatch(/^account=; Max-Age=0/)
    expect(cleared.html).toContain(ids.second)
  })

  test('a part that several names have leads to a choice, which keeps the other filters', async () => {
    const { html, text } = await page('/channels?state=ready&account=m%C3%B6bel')
    expect(text).toContain('2 accounts have “möbel” in their name')
    expect(html).toContain(`/channels?state=ready&amp;account=${first.accountId}`)
    expect(html).toContain(`/channels?state=ready&amp;account=${second.accountId}`)
  })

  test('a whole name means its account, also where others have it as a part', async () => {
    const id = await createAccount(service.runtime.db, 'Nord')
    const { text } = await page('/?account=nord')
    expect(text).toContain('Account Nord')
    await service.runtime.db.$client.query('delete from accounts where id = $1', [id])
  })

  test('one that is gone is as none: a cookie of it shows all accounts', async () => {
    const { status, html } = await page('/channels', 'account=01a222bb-0912-76f8-b59c-39813824aec2')
    expect(status).toBe(200)
    expect(html).toContain('Channel of Möbel Süd')
    expect((await page('/channels?account=nobody')).status).toBe(404)
  })

  test('is completed while it is typed, those first that begin with it', async () => {
    const answer = await page('/accounts.json?part=S')
    expect(JSON.parse(answer.html)).toContain('Möbel Süd GmbH')
    expect(JSON.parse((await page('/accounts.json?part=')).html)).toEqual([])
  })
})
