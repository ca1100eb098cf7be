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

const paths = [
  '/docs',
  ...guideNames.map((name) => `/docs/${name}`),
  ...['send-message', 'get-message', 'list-callbacks', 'on-message-sent', 'receive-receipts'].map(
    (name) => `/docs/${name}`,
  ),
  '/docs/schemas',
  '/docs/search?q=retry',
]

test.each(paths)(
  '%s can be used by everybody, in light and dark, on a phone too, and loads nothing from elsewhere',
  async (path) => {
    const { page, expectNothingOdd } = await openPage(browser, [service.url])
    await page.goto(service.url + path)
    // All that is hidden until it is opened, too.
    await page.evaluate(`
      for (const details of document.querySelectorAll('details')) details.open = true
      for (const panel of document.querySelectorAll('.panel')) panel.style.display = 'block'`)
    await expectUsable(page)
    expectNothingOdd()
    await page.context().close()
  },
)

test('the form of an operation sends what is in it, with the key, to the service that served the page', async () => {
  const { page, expectNothingOdd } = await openPage(browser, [service.url])
  await page.goto(`${service.url}/docs/send-message-on-channel`)
  const send = page.locator('main')
  await send.getByText('Try it').click()
  await send.getByLabel('API key').fill(account.apiKey)
  await send.getByLabel('channelId', { exact: true }).fill(account.channelId)
  await send.getByRole('button', { name: 'Send' }).click()
  await send.getByText(/^202 Accepted/).waitFor()
  expect(await send.locator('output').innerText()).toContain('"requestId"')
  await page.goto(`${service.url}/docs/get-message`)
  const read = page.locator('main')
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
  await page.keyboard.type('zebra')
  await page.keyboard.press('Enter')
  await page.getByRole('heading', { name: 'Nothing found' }).waitFor()
  await page.getByRole('searchbox').fill('verify callback')
  await page.keyboard.press('Enter')
  await page.getByRole('heading', { name: /^Found: / }).waitFor()
  await page
    .getByRole('link', { name: /: Verify it$/ })
    .first()
    .focus()
  await page.keyboard.press('Enter')
  await page.waitForURL(/\/docs\/callbacks#verify-it$/)
  await page.getByRole('link', { name: 'GET /v1/messages/:requestId' }).first().click()
  await page.waitForURL(/\/docs\/get-message$/)
  expectNothingOdd()
  await page.context().close()
})

test('the language of samples is chosen once, without script for a group, with it for all pages', async () => {
  const plain = await openPage(browser, [service.url], { javaScriptEnabled: false })
  await plain.page.goto(`${service.url}/docs/first-send`)
  expect(await plain.page.getByText('urllib.request.Request').isVisible()).toBe(false)
  await plain.page.getByText('Python', { exact: true }).click()
  expect(await plain.page.getByText('urllib.request.Request').isVisible()).toBe(true)
  expect(await plain.page.getByRole('button', { name: 'Copy' }).count()).toBe(0)
  await plain.page.context().close()

  const { page, expectNothingOdd } = await openPage(browser, [service.url])
  await page.goto(`${service.url}/docs/first-send`)
  await page.getByText('Python', { exact: true }).click()
  await page.goto(`${service.url}/docs/list`)
  expect(await page.getByText('urllib.parse.urlencode').isVisible()).toBe(true)
  expectNothingOdd()
  await page.context().close()
})

test('a sample is copied as it is written', async () => {
  const { page } = await openPage(browser, [service.url], {
    permissions: ['clipboard-read', 'clipboard-write'],
  })
  await page.goto(`${service.url}/docs/try-it`)
  await page.getByRole('button', { name: 'Copy' }).first().click()
  await page.getByRole('button', { name: 'Copied' }).waitFor()
  const copied = await page.evaluate('navigator.clipboard.readText()')
  expect(JSON.parse(copied as string).contact.value).toBe('+15550100103')
  await page.context().close()
})
