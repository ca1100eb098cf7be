import type { Browser } from 'playwright-core'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { openBrowser, openPage } from '../support/browser.ts'
import { type Account, buildAccount } from '../support/builders.ts'
import { startTestService, type TestService } from '../support/service.ts'

let service: TestService
let browser: Browser
let account: Account

beforeAll(async () => {
  service = await startTestService({ PUBLIC_BASE_URL: 'https://messages.example.com' })
  account = await buildAccount(service)
  browser = await openBrowser()
})

afterAll(async () => {
  await browser.close()
  await service.stop()
})

test('in a browser the page shows the routes, sends the example that is tried out, and calls no other host', async () => {
  const { page, expectNothingOdd } = await openPage(browser, [service.url])
  await page.goto(`${service.url}/docs`)
  const send = page.locator('#operations-Messages-sendMessageOnChannel')
  await send.locator('.opblock-summary').click()
  await page.click('.btn.authorize')
  await page.fill('.modal-ux input', account.apiKey)
  await page.click('.modal-ux .btn.authorize')
  await page.click('.modal-ux .btn-done')
  await send.locator('input[placeholder="channelId"]').fill(account.channelId)
  await send.locator('.btn.execute').click()
  const answer = send.locator('.live-responses-table')
  expect(await answer.locator('.response .response-col_status').innerText()).toContain('202')
  expect(await answer.locator('pre').first().innerText()).toContain('requestId')
  expectNothingOdd()
})
