import type { Browser, Page } from 'playwright-core'
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest'
import { recordAudit } from '../../db/audit/record.ts'
import { addSuppression, suppressionsOfContact } from '../../db/suppression/entries.ts'
import { expectUsable } from '../support/axe.ts'
import { openBrowser, openPage, type WatchedPage } from '../support/browser.ts'
import { type Account, accept, buildAccount, newContact, textBody } from '../support/builders.ts'
import { startTestProcesses, type TestProcesses } from '../support/processes.ts'
import { finishedTimeline, testSuppressionKey } from '../support/service.ts'

let service: TestProcesses
let browser: Browser
let account: Account
let watched: WatchedPage
let page: Page
let requestId: string
const value = newContact()

beforeAll(async () => {
  service = await startTestProcesses()
  browser = await openBrowser()
  account = await buildAccount(service)
  requestId = await accept(service, account, textBody('Hello', value))
  const { conversationId } = await finishedTimeline(service, requestId, account.apiKey)
  const { db } = service.runtime
  const seen = { by: 'Oz', via: 'page', address: '192.0.2.7', action: 'contacts.view' } as const
  await recordAudit(db, { ...seen, target: '/contact', details: { conversationId: String(conversationId) } })
  const row = { by: 'Oz', via: 'cli', address: 'ops-1', action: 'account.update' } as const
  await recordAudit(db, { ...row, target: account.accountId, details: { rateLimit: '5/60' } })
})
beforeEach(async () => {
  watched = await openPage(browser, [service.adminUrl])
  page = watched.page
})
afterEach(async () => {
  watched.expectNothingOdd()
  await page.context().close()
})
afterAll(async () => {
  await browser.close()
  await service.stop()
})

const open = (path: string) => page.goto(service.adminUrl + path)

test('the page of an account with its history can be used by everybody', async () => {
  await open(`/?account=${account.accountId}`)
  expect(await page.getByRole('heading', { name: 'Who changed it' }).count()).toBe(1)
  await expectUsable(page)
})

test('by keyboard: an opt-out is removed only with a reason, and the page of its contact, which says so, can be used by everybody', async () => {
  const { db } = service.runtime
  const suppressed = {
    accountId: account.accountId,
    contact: { type: 'phone', value },
    channelId: null,
  } as const
  const { entry } = await addSuppression(db, suppressed, null, testSuppressionKey)
  await db.$client.query(`update suppressions set cause = 'opt_out' where id = $1`, [entry.suppressionId])
  await open(`/contact?requestId=${requestId}`)
  expect(await page.getByText('removed only with a reason').count()).toBe(1)
  await expectUsable(page)
  const reason = page.getByLabel('Reason for removing it')
  await reason.focus()
  await page.keyboard.press('Enter')
  expect(await page.locator('input[name=reason][required]:invalid').count()).toBe(1)
  await page.keyboard.type('asked by phone')
  await page.keyboard.press('Enter')
  await page.getByText('Messages go to it.').waitFor()
  expect(await suppressionsOfContact(db, suppressed, testSuppressionKey)).toEqual([])
  expect(await page.getByRole('cell', { name: 'asked by phone' }).count()).toBe(1)
})
