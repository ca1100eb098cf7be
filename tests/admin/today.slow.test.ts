import { eq } from 'drizzle-orm'
import { v7 as uuidv7 } from 'uuid'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { createAccount } from '../../db/accounts/accounts.ts'
import { recordKeyUses } from '../../db/accounts/api-keys.ts'
import { holdChannel, updateChannel } from '../../db/accounts/channels.ts'
import { disableEndpoint } from '../../db/callbacks/endpoints.ts'
import { foldCounts } from '../../db/counters/fold.ts'
import { openBreaker } from '../../db/delivery/breakers.ts'
import { recordReceipts } from '../../db/receipts/receipts.ts'
import { channels, sends } from '../../db/schema.ts'
import { addSuppression } from '../../db/suppression/entries.ts'
import { startTestAdmin, type TestAdmin } from '../support/admin.ts'
import { buildSendRow } from '../support/attempts.ts'
import {
  type Account,
  accept,
  buildAccount,
  buildChannel,
  buildKey,
  newContact,
  textBody,
} from '../support/builders.ts'
import { buildEndpoint } from '../support/endpoints.ts'
import { livingWorker } from '../support/living-worker.ts'
import { getPage, postForm } from '../support/pages.ts'
import { buildReceipt } from '../support/receipts.ts'
import {
  finishedTimeline,
  startTestService,
  type TestService,
  testSuppressionKey,
} from '../support/service.ts'

const rejected = '+15550100103'

let service: TestService
let admin: TestAdmin
let account: Account
let other: Account

beforeAll(async () => {
  service = await startTestService({
    ALLOWED_PRIVATE_NETWORKS: '127.0.0.0/8',
    CLIENT_PRIVATE_NETWORKS: '127.0.0.0/8',
  })
  admin = await startTestAdmin(service)
  account = await buildAccount(service)
  other = await buildAccount(service)
  const { db } = service.runtime
  await updateChannel(db, account.channelId, { name: 'Codes by SMS' })
  await updateChannel(db, other.channelId, { name: 'News' })
  // A page is read while a send waits for its next attempt.
  await service.startWorker('of today', { settings: { RETRY_DELAYS_SECONDS: '10,1,1' } })
})
afterAll(async () => {
  await admin.stop()
  await service.stop()
})

const page = (path: string) => getPage(admin.url + path)
const end = async (body: object, from = account) => {
  const requestId = await accept(service, from, body)
  await finishedTimeline(service, requestId, from.apiKey)
  return requestId
}

/** The figures of a row of a table, by the names of its columns. */
function rowOf(html: string, start: RegExp): Record<string, string> {
  const row = html.match(/<tr>.*?<\/tr>/gs)?.find((one) => start.test(one)) ?? ''
  return Object.fromEntries(
    [...row.matchAll(/<td data-label="([^"]+)"[^>]*>(.*?)<\/td>/gs)].map(([, name = '', cell = '']) => [
      name,
      cell.replace(/<[^>]*>/g, '').trim(),
    ]),
  )
}

describe('today', () => {
  test('says what became of the sends of each channel, and of all, at once', async () => {
    const sent = await end(textBody())
    await end(textBody())
    await end(textBody('Hello', rejected))
    await end(textBody(), other)
    await recordReceipts(service.runtime.db, [buildReceipt(sent, account.channelId, 'delivered')])
    for (const isFolded of [false, true]) {
      if (isFolded) while ((await foldCounts(service.runtime.db, 1000)) > 0);
      const { html, status } = await page('/')
      expect(status).toBe(200)
      const figures = { Accepted: '3', Sent: '2', Delivered: '1', Failed: '1', Waiting: '0' }
      expect(rowOf(html, /Codes by SMS/)).toMatchObject(figures)
      expect(rowOf(html, /News/)).toMatchObject({ Accepted: '1', Sent: '1', Failed: '0' })
      expect(rowOf(html, />\s*Accepted\s*<\/th>\s*<td/)).toEqual({
        'Last hour': '4',
        '24 hours': '4',
        '7 days': '4',
      })
      for (const span of ['hour', 'week'])
        expect(rowOf((await page(`/?span=${span}`)).html, /Codes by SMS/)).toMatchObject(figures)
    }
  })

  test('leads from each count to the list of the sends it counts', async () => {
    const failures = `/sends\\?accountId=${account.accountId}&(?:amp;)?status=failed&(?:amp;)?acceptedFrom=[^"]+`
    const { html } = await page(`/?account=${account.accountId}&span=week`)
    const [, link = '', count = ''] = html.match(new RegExp(`<a href="(${failures})">(\\d+)</a>`)) ?? []
    expect(Number(count)).toBeGreaterThan(0)
    const list = await page(link.replaceAll('&amp;', '&'))
    expect(list.text).toContain(`${count} send`)
    expect((await page('/channels')).html).toMatch(
      /<a href="\/sends\?channelId=[^"]+acceptedFrom=[^"]+">\d+<\/a>/,
    )
  })

  test('says why sends failed, by reason and code', async () => {
    const { text } = await page('/')
    expect(text).toMatch(/failed by the recipient: [^0-9]* \S+ 1/)
  })

  test('of one account has only its channels and sends', async () => {
    for (const named of [other.accountId]) {
      const { html, text } = await page(`/?account=${named}`)
      expect(text).toContain('News')
      expect(text).not.toContain('Codes by SMS')
      expect(rowOf(html, />\s*Accepted\s*<\/th>\s*<td/)).toMatchObject({ '24 hours': '1' })
    }
    expect((await page('/?account=nobody')).status).toBe(404)
    const twins = [await buildAccount(service), await buildAccount(service)]
    expect((await page('/?account=Test')).text).toContain('Which account?')
    const { text, html } = await page(`/?account=${twins[0]?.accountId}`)
    expect(text).toContain('Account Test')
    // Each link stays with this one.
    expect(html).toContain(`account=${twins[0]?.accountId}&amp;span=week`)
    expect((await page('/?account=%00')).status).toBe(404)
    expect((await page('/?span=x&skip=-1')).status).toBe(200)
  })

  test('has the numbers of its chart as a table', async () => {
    const { html } = await page('/')
    expect(html).toContain('<svg class="chart"')
    const hour = new Date().toISOString().slice(0, 13).replace('T', ' ')
    expect(rowOf(html, new RegExp(`${hour}:00`))).toMatchObject({ Accepted: '4', Failed: '1' })
  })

  test('begins with what needs a hand', async () => {
    const { db } = service.runtime
    expect((await page('/')).text).toContain('Nothing needs a hand')
    const accountId = await createAccount(db, 'In need')
    const held = await buildChannel(service, accountId)
    const failing = await Promise.all([1, 2].map(() => buildChannel(service, accountId)))
    await holdChannel(db, held, 'held by an operator: the bill is not paid')
    for (const id of failing) await openBreaker(db, { channelId: id, isAgain: false })
    const endpoint = await buildEndpoint(service, accountId, 'https://hooks.example/in')
    await disableEndpoint(db, endpoint.endpointId, 'by an operator')
    const expiring = await buildKey(service, accountId, { expiresAt: new Date(Date.now() + 86_400_000) })
    expect((await page('/')).text).not.toContain('It was last used at')
    await recordKeyUses(db, [expiring.keyId])
    const { text } = await page('/')
    expect(text).toContain('Needs a hand')
    const [, failed, all] = /sandbox fails for (\d+) of (\d+) channels since/.exec(text) ?? []
    expect(failed).toBe('2')
    expect(Number(all)).toBeGreaterThan(2)
    const { html: found } = await page('/channels?provider=sandbox&state=failing')
    expect(found.match(/<tr>\s*<td data-label="Channel">/g)).toHaveLength(2)
    expect(text).toMatch(/of In need is held since .* the bill is not paid/)
    expect(text).toMatch(/The endpoint hooks\.example of In need is disabled since .* by an operator/)
    expect(text).toMatch(/The key omk_\S+… of In need expires at .* It was last used at/)
    const own = (await page(`/?account=${accountId}`)).text
    expect(own).toMatch(/of In need is held since .* the bill is not paid/)
    expect(own).toContain('sandbox fails for 2 of 3 channels since')
    expect(own).toMatch(/The endpoint hooks\.example of In need is disabled/)
    expect((await page(`/?account=${other.accountId}`)).text).toContain('Nothing needs a hand')
  })
})

describe('channels', () => {
  test('are listed with those first whose sends wait, and found by name, account, provider and state', async () => {
    const names = (html: string) =>
      [...html.matchAll(/href="\/channels\/[0-9a-f-]{36}">([^<]*)</g)].map(([, name]) => name)
    const all = names((await page('/channels')).html)
    expect(all.length).toBeGreaterThanOrEqual(5)
    expect(all.slice(3)).toEqual(expect.arrayContaining(['Codes by SMS', 'News']))
    expect(names((await page('/channels?name=codes')).html)).toEqual(['Codes by SMS'])
    expect(names((await page(`/channels?name=${other.channelId}`)).html)).toEqual(['News'])
    expect(names((await page(`/channels?account=${other.accountId}`)).html)).toEqual(['News'])
    expect(names((await page('/channels?state=held&account=In need')).html)).toHaveLength(1)
    expect((await page('/channels?provider=smtp')).text).toContain('No channel found')
  })

  test('go on from page to page, each once', async () => {
    const accountId = await createAccount(service.runtime.db, 'Many')
    const made = await Promise.all(Array.from({ length: 70 }, () => buildChannel(service, accountId)))
    const found: string[] = []
    for (let path: string | undefined = '/channels?account=Many'; path; ) {
      const { html }: { html: string } = await page(path)
      found.push(...[...html.matchAll(/href="\/channels\/([0-9a-f-]{36})"/g)].map(([, id = '']) => id))
      path = /<a class="button" href="([^"]+)"/.exec(html)?.[1]?.replaceAll('&amp;', '&')
    }
    expect(found).toHaveLength(70)
    expect(new Set(found)).toEqual(new Set(made))
  })

  test('have a page: state, last answer, what waits, counts and set-up', async () => {
    const { text, html, status } = await page(`/channels/${account.channelId}`)
    expect(status).toBe(200)
    for (const part of [
      'Codes by SMS',
      'ready',
      'Last failed answer',
      'the sandbox refuses this recipient',
      account.channelId,
    ])
      expect(text).toContain(part)
    expect(rowOf(html, />\s*Failed\s*<\/th>\s*<td/)).toMatchObject({ 'Last hour': '1' })
    expect(text).toMatch(/sandbox fails for 2 of \d+ channels since/)
  })

  test('are listed with what their provider last answered to a call that failed, in the words of their page', async () => {
    const failed = rowOf((await page('/channels?name=Codes by SMS')).html, /Codes by SMS/)
    const answer = failed['Last failed answer'] ?? ''
    const words = /the sandbox refuses this recipient.* · 400 · rejected\s*at /
    expect(answer).toMatch(words)
    expect((await page(`/channels/${account.channelId}`)).text).toMatch(words)
    const channelId = await buildChannel(service, account.accountId)
    const { html } = await page(`/channels?name=${channelId}`)
    expect(rowOf(html, new RegExp(channelId))['Last failed answer']).toBe('–')
  })

  test('show which channel they fall back on, which fall back on them, and which contacts they suppress', async () => {
    const [first, second] = [
      await buildChannel(service, account.accountId),
      await buildChannel(service, account.accountId),
    ]
    await updateChannel(service.runtime.db, first, {
      name: 'The first',
      fallbackChannelId: second,
      fallbackOn: ['undelivered'],
      fallbackWithinSeconds: 60,
      autoSuppress: ['bounce', 'opt_out'],
    })
    const of = async (channelId: string) => (await page(`/channels/${channelId}`)).text
    expect(await of(first)).toContain(
      `Fallback ${second} , for sends that are undelivered, within 60 s of their accept`,
    )
    expect(await of(first)).toContain('Auto-suppress bounce, opt_out')
    expect(await of(second)).toMatch(
      /Auto-suppress bounce, complaint, opt_out .*Fallback none Fallback of The first/,
    )
  })

  test('show no answer where a send ended without a call, and none that another channel got before a fallback', async () => {
    const { db } = service.runtime
    const [first, second] = [
      await buildChannel(service, account.accountId),
      await buildChannel(service, account.accountId),
    ]
    await updateChannel(db, first, { fallbackChannelId: second })
    await db.$client.query('update channels set held_at = now() where id = $1', [second])
    const refused = await accept(service, { ...account, channelId: first }, textBody('Hello', '+15550100103'))
    await expect
      .poll(async () => (await page(`/support/${refused}`)).text, { timeout: 20_000 })
      .toContain('went on by the channel')
    const contact = { type: 'email', value: 'nothing@example.com' } as const
    const suppressed = { accountId: account.accountId, contact, channelId: second }
    await addSuppression(db, suppressed, null, testSuppressionKey)
    await accept(service, { ...account, channelId: second }, textBody('Hello', contact.value))
    await expect
      .poll(async () => (await page(`/sends?channelId=${second}`)).text, { timeout: 20_000 })
      .toContain('suppressed')
    expect((await page(`/channels/${second}`)).text).not.toContain('Last failed answer')
  })

  test('that fail say what their provider answers to sends that are tried again', async () => {
    const from = { ...account, channelId: await buildChannel(service, account.accountId) }
    const requestId = await accept(service, from, textBody('Hello', '+15550100102'))
    await expect
      .poll(async () => (await page(`/channels/${from.channelId}`)).text, { timeout: 20_000 })
      .toMatch(/the sandbox is out of service · 503/)
    await finishedTimeline(service, requestId, account.apiKey)
  })

  test('are held and resumed with a reason, as by the command line', async () => {
    const channelId = await buildChannel(service, account.accountId)
    const at = `${admin.url}/channels/${channelId}`
    expect((await postForm(`${at}/hold`, { reason: ' ' })).status).toBe(400)
    expect((await postForm(`${at}/hold`, { reason: 'the number is being ported' })).status).toBe(303)
    expect((await page(`/channels/${channelId}`)).text).toMatch(
      /held since .*held by an operator: the number is being ported/,
    )
    const requestId = await accept(service, { ...account, channelId }, textBody('Hello', newContact()))
    const { text } = await page(`/support/${requestId}`)
    expect(text).toMatch(/has been held by an operator since .* The number is being ported\./)
    expect((await page(`/channels/${channelId}`)).text).toMatch(/Waiting 1/)
    expect((await postForm(`${at}/resume`, { reason: 'it is ported' })).status).toBe(303)
    await finishedTimeline(service, requestId, account.apiKey)
    expect((await page(`/channels/${channelId}`)).text).toContain('State ready')
  })

  test('that may call in plain text are marked in the list, as on their page', async () => {
    const channelId = await buildChannel(service, account.accountId)
    const pages = [`/channels?name=${channelId}`, `/channels/${channelId}`]
    for (const path of pages) expect((await page(path)).text).not.toContain('is plain http')
    const shownConfig = { url: 'http://example.com' }
    await service.runtime.db.update(channels).set({ shownConfig }).where(eq(channels.id, channelId))
    for (const path of pages) expect((await page(path)).text).toMatch(/Warning:? url is plain http/)
  })

  test.each(['nothing', uuidv7()])('of %s there is no page', async (id) => {
    expect((await page(`/channels/${id}`)).status).toBe(404)
    for (const verb of ['hold', 'resume'])
      expect((await postForm(`${admin.url}/channels/${id}/${verb}`, { reason: 'x' })).status).toBe(404)
  })
})

test('a channel that is held again has the new reason, since its first hold', async () => {
  const { db } = service.runtime
  const channelId = await buildChannel(service, account.accountId)
  const holdFor = async (reason: string) => {
    await holdChannel(db, channelId, reason)
    const { text } = await page(`/channels/${channelId}`)
    return /held since ([\d: -]+): (\w+)/.exec(text.replace(/ +/g, ' '))?.slice(1)
  }
  const [since] = (await holdFor('billing')) ?? []
  expect(since).toBeDefined()
  expect(await holdFor('porting')).toEqual([since, 'porting'])
})

test('endpoints are listed with disabled ones first', async () => {
  const { text } = await page('/endpoints')
  expect(text).toMatch(/hooks\.example In need disabled since .* by an operator/)
  expect((await page('/endpoints?state=answering')).text).toContain('No endpoint found')
  expect((await page('/endpoints?state=disabled&account=In need')).text).toContain('hooks.example')
})

test('what waits, the hours and the codes are counted as their lists have them', async () => {
  const { db } = service.runtime
  const accountId = await createAccount(db, 'Counted')
  const channelId = await buildChannel(service, accountId)
  const from = { ...account, accountId, channelId, apiKey: (await buildKey(service, accountId)).apiKey }
  await end(textBody('Hello', rejected), from)
  await holdChannel(db, channelId, 'held')
  const sendAt = new Date(Date.now() + 86_400_000).toISOString()
  await accept(service, from, { ...textBody(), sendAt })
  await accept(service, from, textBody())
  await livingWorker(service, 'of a call')
  const call = {
    status: 'sending',
    attempt: 1,
    worker: 'of a call',
    claimId: uuidv7(),
    claimedAt: new Date(),
  }
  const former = await buildChannel(service, accountId)
  await db
    .insert(sends)
    .values([
      buildSendRow(from, { ...call, status: 'sending' }),
      buildSendRow(from, { formerChannels: [former] }),
    ])
  /** The counts of a page that lead to lists with these words, and how many sends each list has. */
  const lists = async (path: string, words: string) => {
    const links = [...(await page(path)).html.matchAll(/<a href="(\/sends\?[^"]+)">([\d,]+)<\/a>/g)]
    const asked = links.filter(([, link = '']) => link.includes(words))
    return await Promise.all(
      asked.map(async ([, link = '', count = '']) => {
        const { text } = await page(link.replaceAll('&amp;', '&'))
        return [Number(count), Number(/([\d,]+) sends? /.exec(text)?.[1])]
      }),
    )
  }
  for (const [path, waiting] of [
    [`/?account=${accountId}`, 4],
    [`/channels/${channelId}`, 3],
  ] as const) {
    expect(await lists(path, 'status=waiting&')).toContainEqual([waiting, waiting])
    for (const words of ['status=waiting', 'acceptedTo=', 'providerCode=']) {
      const counts = await lists(path, words)
      expect(counts, `${path} ${words}`).not.toEqual([])
      for (const [count, listed] of counts) expect(listed, `${path} ${words}`).toBe(count)
    }
  }
  // The send that fell back waits for this channel now.
  expect(await lists(`/channels/${channelId}`, 'status=waiting_now')).toEqual([[3, 3]])
})
