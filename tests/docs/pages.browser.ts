import type { Browser } from 'playwright-core'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { guideNames } from '../../src/api/docs/guide.ts'
import { expectUsable } from '../support/axe.ts'
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

const paths = ['/docs', ...guideNames.map((name) => `/docs/${name}`), '/docs/search?q=retry']

test.each(paths)(
  '%s can be used by everybody, in light and dark, on a phone too, and loads nothing from elsewhere',
  async (path) => {
    const { page, expectNothingOdd } = await openPage(browser, [service.url])
    await page.goto(service.url + path)
    // All that is hidden until it is opened, too.
    await page.evaluate('for (const details of document.querySelectorAll("details")) details.open = true')
    await expectUsable(page)
    expectNothingOdd()
    await page.context().close()
  },
)

test('the form of an operation sends what is in it, with the key, to the service that served the page', async () => {
  const { page, expectNothingOdd } = await openPage(browser, [service.url])
  await page.goto(`${service.url}/docs#sendMessageOnChannel`)
  const send = page.locator('#sendMessageOnChannel')
  await send.getByText('Try it').click()
  await send.getByLabel('API key').fill(account.apiKey)
  await send.getByLabel('channelId', { exact: true }).fill(account.channelId)
  await send.getByRole('button', { name: 'Send' }).click()
  await send.getByText(/^202 Accepted/).waitFor()
  expect(await send.locator('output').innerText()).toContain('"requestId"')
  const read = page.locator('#getMessage')
  await read.getByText('Try it').click()
  expect(await read.getByLabel('API key').inputValue()).toBe(account.apiKey)
  expectNothingOdd()
  await page.context().close()
})

test('without script and by keyboard: skip to the content, search, open a guide and the operation that it names', async () => {
  const { page, expectNothingOdd } = await openPage(browser, [service.url], { javaScriptEnabled: false })
  await page.goto(`${service.url}/docs`)
  expect(await page.locator('details.try:visible').count()).toBe(0)
  await page.keyboard.press('Tab')
  expect(await page.locator(':focus').innerText()).toBe('Skip to content')
  await page.getByRole('searchbox').focus()
  await page.keyboard.type('webhook-id twice')
  await page.keyboard.press('Enter')
  await page.getByRole('heading', { name: 'Nothing found' }).waitFor()
  await page.getByRole('searchbox').fill('verify callback')
  await page.keyboard.press('Enter')
  await page.getByRole('heading', { name: /^Found: / }).waitFor()
  await page.getByRole('link', { name: 'Callbacks: Verify it' }).focus()
  await page.keyboard.press('Enter')
  await page.waitForURL(/\/docs\/callbacks#verify-it$/)
  await page.getByRole('link', { name: 'GET /v1/messages/:requestId' }).first().click()
  await page.waitForURL(/\/docs#getMessage$/)
  expectNothingOdd()
  await page.context().close()
})
