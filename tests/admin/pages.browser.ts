import type { Browser, BrowserContextOptions, Locator, Page } from 'playwright-core'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { updateChannel } from '../../db/accounts/channels.ts'
import { recordAudit } from '../../db/audit/record.ts'
import { recordRefused } from '../../db/audit/refused.ts'
import { newId } from '../../src/core/requests/new-id.ts'
import { expectUsable } from '../support/axe.ts'
import { openBrowser, openPage, type WatchedPage } from '../support/browser.ts'
import {
  type Account,
  accept,
  buildAccount,
  buildChannel,
  buildWebhookChannel,
  newContact,
  textBody,
} from '../support/builders.ts'
import { samples } from '../support/media-samples.ts'
import { startTestProcesses, type TestProcesses } from '../support/processes.ts'
import { finishedTimeline } from '../support/service.ts'
import { eventually } from '../support/wait.ts'
import { gate, openWebhookReceiver, type WebhookReceiver } from '../support/webhook-receiver.ts'

const retried = '+15550100102'
const rejected = '+15550100103'

let service: TestProcesses
let receiver: WebhookReceiver
let browser: Browser
let account: Account
let watched: WatchedPage
let page: Page

beforeAll(async () => {
  service = await startTestProcesses({ SUPPORT_SHOW_CONTENT: 'true', RETRY_DELAYS_SECONDS: '2,1' })
  receiver = await openWebhookReceiver()
  browser = await openBrowser()
  account = await buildAccount(service)
})

afterAll(async () => {
  await browser.close()
  await service.stop()
  await receiver.stop()
})

beforeEach(async () => {
  watched = await openPage(browser, [service.adminUrl])
  page = watched.page
})

afterEach(async () => {
  watched.expectNothingOdd()
  await page.context().close()
})

const open = (path: string, on = page) => on.goto(service.adminUrl + path)
const summary = (on = page) => on.getByRole('heading', { level: 1 })

async function finished(body: object, channel = account): Promise<string> {
  const requestId = await accept(service, channel, body)
  await finishedTimeline(service, requestId, account.apiKey)
  return requestId
}

describe('the one box', () => {
  test('takes a requestId with junk around it, and leads to its timeline with waits, codes and what they mean', async () => {
    const requestId = await finished(textBody('Hello', retried))
    await open('/support')
    await page
      .getByLabel('Find')
      .fill(`  >> 14:02 worker: {"requestId":"${requestId.toUpperCase()}","event":"x"}\t`)
    await page.getByRole('button', { name: 'Find' }).click()

    await page.waitForURL(`${service.adminUrl}/support/${requestId}`)
    expect(await summary().innerText()).toMatch(/^Accepted by the provider at /)
    const timeline = await page.getByRole('region', { name: 'Timeline' }).innerText()
    expect(timeline.match(/^Provider status\s+503$/gm)).toHaveLength(2)
    expect(timeline).toMatch(/Meaning\s+it is out of service or overloaded/)
    expect(timeline).toMatch(/waited [\d.]+ m?s/)
    expect(timeline).toContain('Provider message id')
  })

  test('works by keyboard: it has the focus, Enter searches, and the first Tab stop of a page leads to its content', async () => {
    const requestId = await finished(textBody())
    await open('/support')
    // Chromium gives it with the first frame, which may come after the page is loaded.
    await page.locator('#q:focus').waitFor()
    await page.keyboard.type(requestId)
    await page.keyboard.press('Enter')
    await page.waitForURL(`${service.adminUrl}/support/${requestId}`)

    await page.keyboard.press('Tab')
    expect(await page.locator(':focus').innerText()).toBe('Skip to content')
    const outline = await page
      .locator(':focus')
      .evaluate((element) => element.ownerDocument.defaultView?.getComputedStyle(element).outlineStyle)
    expect(outline).toBe('solid')
    await page.keyboard.press('Enter')
    await page.keyboard.press('Tab')
    expect(await page.locator('main :focus').count()).toBe(1)
  })
})

describe('a list', () => {
  const found = () => page.locator('td .id a').allInnerTexts()
  const search = async (fields: Record<string, string>) => {
    await open('/sends')
    await page.getByText('Change').click()
    for (const [label, text] of Object.entries(fields)) {
      const field = page.getByLabel(label, { exact: true })
      if (label === 'State') await field.selectOption(text)
      else await field.fill(text)
    }
    await page.getByRole('button', { name: 'Search' }).click()
    await page.getByText('newest first').waitFor()
  }

  test('by contact finds what was sent to it, however the number is written', async () => {
    const contact = newContact()
    const made = [await finished(textBody('1', contact)), await finished(textBody('2', contact))]
    await search({ Contact: `00${contact.slice(1, 3)} (${contact.slice(3, 6)}) ${contact.slice(6)}` })
    expect(await found()).toEqual(made.toReversed())
    expect(page.url()).not.toContain(contact.slice(-6))
    await page.getByRole('link', { name: made[0] ?? '' }).click()
    await page.waitForURL(`${service.adminUrl}/support/${made[0]}`)
  })

  test('by channel and state finds only those', async () => {
    const channelId = await buildChannel(service, account.accountId)
    await updateChannel(service.runtime.db, channelId, { name: 'Only here' })
    const channel = { ...account, channelId }
    await finished(textBody(), channel)
    const failed = await finished(textBody('Hello', rejected), channel)
    await finished(textBody('Hello', rejected))
    await search({ Channel: 'Only here', State: 'failed' })
    expect(await found()).toEqual([failed])
    expect(await page.locator('tbody .state').allInnerTexts()).toEqual(['failed'])
  })
})

test('the page of an unfinished send updates by itself, until the send has ended', async () => {
  const held = gate()
  const channelId = await buildWebhookChannel(service, account.accountId, receiver.at(held.behaviour), 'hold')
  const requestId = await accept(service, { ...account, channelId }, textBody())
  await open(`/support/${requestId}`)
  expect(await summary().innerText()).not.toContain('Accepted')
  await page.getByText('Updates every 3 s.').waitFor()

  held.open()
  await page.getByRole('heading', { level: 1, name: /^Accepted by the provider/ }).waitFor()
  expect(await page.getByText('Updates every').count()).toBe(0)
  expect(await page.locator('meta[http-equiv=refresh]').count()).toBe(0)
})

test('a replay asks for confirmation: it can be cancelled, or sends again and shows the result', async () => {
  const requestId = await finished(textBody('Hello', rejected))
  const attempts = async () => (await finishedTimeline(service, requestId, account.apiKey)).attempts
  await open(`/support/${requestId}`)
  expect(await summary().innerText()).toMatch(/^Not delivered\. /)
  await page.getByRole('link', { name: 'Replay…' }).click()
  expect(await summary().innerText()).toBe('Send this text again?')
  await page.getByRole('link', { name: 'Leave it as it is' }).click()
  await page.waitForURL(`${service.adminUrl}/support/${requestId}`)
  expect(await attempts()).toBe(1)

  await page.getByRole('link', { name: 'Replay…' }).click()
  await page.getByRole('button', { name: 'Replay' }).click()
  await page.getByRole('heading', { level: 1, name: /^Not delivered\. .*2 attempts/ }).waitFor()
  expect(await attempts()).toBe(2)
})

test('a list is replayed: first a trial, then with those left out included, then for real', async () => {
  const channel = { ...account, channelId: await buildChannel(service, account.accountId) }
  await finished(textBody('Hello', rejected), channel)
  await open(`/sends?channelId=${channel.channelId}&status=failed`)
  await page.getByRole('button', { name: 'Replay this list…' }).click()
  expect(await summary().innerText()).toBe('Nothing to replay')
  await page.getByText('1 refused for good').waitFor()
  await page.getByLabel('Also those that were refused for good').check()
  await page.getByRole('button', { name: 'Count again' }).click()
  expect(await summary().innerText()).toBe('Send 1 message again?')
  await page.getByRole('button', { name: 'Replay 1' }).click()
  expect(await summary().innerText()).toBe('Queued again: 1 message')
  await page.getByRole('link', { name: 'Back to the list' }).click()
  await page.getByText('newest first').waitFor()
})

test('without script: from the list over the timeline to the replay', async () => {
  const still = await openPage(browser, [service.adminUrl], { javaScriptEnabled: false })
  const channel = { ...account, channelId: await buildChannel(service, account.accountId) }
  const requestId = await finished(textBody('Hello', rejected), channel)
  await open('/sends', still.page)
  await still.page.getByText('Change').click()
  await still.page.getByLabel('Channel', { exact: true }).fill(channel.channelId)
  await still.page.getByRole('button', { name: 'Search' }).click()
  await still.page.getByRole('link', { name: requestId }).click()
  await still.page.getByRole('heading', { name: 'Timeline' }).waitFor()
  await still.page.getByRole('link', { name: 'Replay…' }).click()
  await still.page.getByRole('button', { name: 'Replay' }).click()
  await still.page.getByText('2 attempts').waitFor()
  still.expectNothingOdd()
  await still.page.context().close()
})

describe('the inbox', () => {
  /** 0 while it isn't loaded, and where it can't be shown. */
  const widthOf = async (image: Locator) => Number(await image.evaluate((element) => element.naturalWidth))

  test('shows messages as a chat does, the newest first, with their pictures', async () => {
    const contact = { value: newContact(), name: 'Ann Example' }
    const media = { mediaType: 'image', base64: samples.png.toString('base64'), caption: 'A dot' }
    await finished({ contact, message: { type: 'text', text: { value: 'Look at\nthis' } } })
    const requestId = await finished({ contact, message: { type: 'media', media } })
    await open('/inbox')
    const thread = page.locator('.thread').first()
    expect(await thread.getByRole('heading').innerText()).toContain('Ann Example')
    expect(await thread.locator('.bubble .words').allInnerTexts()).toEqual(['A dot', 'Look at\nthis'])
    const picture = thread.getByRole('img', { name: 'A dot' })
    await picture.scrollIntoViewIfNeeded()
    await eventually('the picture', async () => (await widthOf(picture)) > 0)
    expect(await widthOf(picture)).toBe(1)
    await thread.getByRole('link', { name: 'Timeline' }).first().click()
    await page.waitForURL(`${service.adminUrl}/support/${requestId}`)
  })
})

test('the queue board shows both queues, and leads back by the menu', async () => {
  await open('/queues')
  await page.getByRole('cell', { name: /^sends-overflow/ }).waitFor()
  await page.getByRole('link', { name: 'Find' }).click()
  await page.waitForURL(`${service.adminUrl}/support`)
})

test('a channel is held and resumed by keyboard', async () => {
  const channelId = await buildChannel(service, account.accountId)
  await open(`/channels/${channelId}`)
  for (const [verb, state] of [
    ['Hold', 'held'],
    ['Resume', 'ready'],
  ] as const) {
    await page.getByLabel('Reason').focus()
    await page.keyboard.type('a test')
    await page.keyboard.press('Tab')
    expect(await page.locator(':focus').innerText()).toBe(verb)
    await page.keyboard.press('Enter')
    await page.locator('.verdict .state', { hasText: state }).waitFor()
  }
})

test('scripts and markup in messages are shown as text', async () => {
  const plant = (where: string) =>
    `${where}'"><script>alert(1)</script><img src=x onerror=alert(2)></title><svg onload=alert(3)>`
  const channelId = await buildChannel(service, account.accountId)
  await updateChannel(service.runtime.db, channelId, { name: plant('channel') })
  const contact = { value: newContact(), name: plant('contact') }
  const message = { type: 'text', text: { value: plant('text') } }
  const requestId = await finished({ contact, message }, { ...account, channelId })
  for (const [path, ...places] of [
    [`/support/${requestId}`, 'channel', 'text'],
    [`/sends?accountId=${account.accountId}`, 'channel'],
    ['/inbox', 'channel', 'contact', 'text'],
  ] as const) {
    await open(path)
    for (const place of places) expect(await page.locator('main').innerText()).toContain(plant(place))
    expect(await page.locator('script:not([src="/console.js"]), svg, img[src=x]').count()).toBe(0)
  }
})

describe('who did what, and what was refused', () => {
  const row = { by: 'ann', via: 'cli', address: 'ops-1', action: 'channel.hold' } as const

  beforeAll(async () => {
    const { db } = service.runtime
    const details = { reason: 'the provider is down' }
    for (let n = 0; n < 60; n++) await recordAudit(db, { ...row, target: account.channelId, details })
    const refused = {
      keyId: account.keyId,
      at: new Date(),
      status: 400,
      message: 'message.text.value: is empty',
    }
    const request = { ...refused, route: 'POST /v1/messages', fields: ['contact', 'contact.value'] }
    await recordRefused(db, [{ ...request, requestId: newId() }])
  })

  test.each(['/audit', '/audit?by=ann', '/refused'])('%s can be used by everybody', async (path) => {
    await open(path)
    await page.locator('main summary').click()
    await expectUsable(page)
  })

  test.each(['/audit?from=never', '/refused?status=200'])('%s can be used by everybody', async (path) => {
    // A page with a 4xx is an error to the browser.
    const { page } = await openPage(browser, [service.adminUrl])
    await open(path, page)
    await page.locator('main summary').click()
    await expectUsable(page)
    await page.context().close()
  })

  test('by keyboard: a change of the channel is found by its id, and the older ones by a link', async () => {
    await open('/audit')
    await page.locator('main summary').focus()
    await page.keyboard.press('Enter')
    await page.keyboard.press('Tab')
    await page.keyboard.type(account.channelId)
    await page.keyboard.press('Enter')
    await page.waitForURL(/target=/)
    expect(await page.locator('tbody tr').count()).toBe(50)
    await page.getByRole('link', { name: 'Older' }).focus()
    await page.keyboard.press('Enter')
    await page.waitForURL(/after=/)
    expect(await page.locator('tbody tr').count()).toBe(10)
  })
})

describe('can be used by everybody, at three widths, light and dark', () => {
  let requestId: string

  beforeAll(async () => {
    requestId = await finished(textBody('x'.repeat(500), rejected))
    await finished(textBody('x'.repeat(300), rejected))
  })

  test.each([
    '/',
    '/channels',
    '/channels/CHANNEL',
    '/endpoints',
    '/queues',
    '/support',
    '/support?q=131047',
    '/support/REQUEST',
    '/support/REQUEST/replay',
    '/sends?accountId=ACCOUNT',
    '/sends?accountId=ACCOUNT&status=failed',
    '/contact?requestId=REQUEST',
    '/contact',
    '/suppressions',
    '/suppressions?accountId=ACCOUNT',
    '/inbox',
  ])('%s', async (path) => {
    const { accountId, channelId } = account
    await open(path.replace('REQUEST', requestId).replace('ACCOUNT', accountId).replace('CHANNEL', channelId))
    await expectUsable(page)
  })
})

test('by keyboard alone: from the box to a contact, which is suppressed there', async () => {
  const contact = newContact()
  await finished(textBody('Hello', contact))
  await open('/support')
  await page.locator('#q:focus').waitFor()
  await page.keyboard.type(`my code for ${contact} didn't arrive`)
  await page.keyboard.press('Enter')
  await page.waitForURL(/\/contact\?requestId=/)
  await page.getByLabel('Reason').focus()
  await page.keyboard.type('asked by letter')
  await page.keyboard.press('Enter')
  await page.getByText('It is suppressed for this account.').waitFor()
})

test('times are in the zone of the browser, which is named, and in UTC without script', async () => {
  const requestId = await finished(textBody('Hello'))
  const timeIn = async (options: BrowserContextOptions) => {
    const { page, expectNothingOdd } = await openPage(browser, [service.adminUrl], options)
    await page.goto(`${service.adminUrl}/support/${requestId}`)
    const time = page.locator('time.moment').first()
    const [shown, at] = [await time.innerText(), await time.getAttribute('datetime')]
    expectNothingOdd()
    await page.context().close()
    return { shown, at: new Date(at ?? '') }
  }
  const there = await timeIn({ timezoneId: 'Asia/Kolkata' })
  const local = new Date(there.at.getTime() + 19_800_000).toISOString()
  expect(there.shown).toContain(`${local.slice(0, 10)} ${local.slice(11, 19)}`)
  expect(there.shown).toContain('GMT+5:30')
  const without = await timeIn({ timezoneId: 'Asia/Kolkata', javaScriptEnabled: false })
  expect(without.shown).toContain(`${without.at.toISOString().slice(11, 19)}`)
  expect(without.shown).toContain('UTC')
})
