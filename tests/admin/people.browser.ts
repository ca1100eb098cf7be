import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Browser, BrowserContextOptions, Page } from 'playwright-core'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { startTestAdmin, type TestAdmin } from '../support/admin.ts'
import { expectUsable } from '../support/axe.ts'
import { openBrowser, openPage } from '../support/browser.ts'
import { buildPerson, password } from '../support/people.ts'
import { startTestService, type TestService } from '../support/service.ts'

let service: TestService
let admin: TestAdmin
let browser: Browser
/** Another site, with a link to a page of ours. */
let elsewhere: Server
let elsewhereUrl: string

beforeAll(async () => {
  service = await startTestService()
  admin = await startTestAdmin(service)
  browser = await openBrowser()
  await buildPerson(service, 'Ann', 'support')
  await buildPerson(service, 'Oz', 'operator')
  elsewhere = createServer((_request, response) => {
    response.setHeader('Content-Type', 'text/html')
    response.end(`<link rel="icon" href="data:,"><a href="${admin.url}/channels?state=held">a list</a>`)
  })
  await new Promise<void>((resolve) => elsewhere.listen(0, 'localhost', resolve))
  elsewhereUrl = `http://localhost:${(elsewhere.address() as AddressInfo).port}`
})
afterAll(async () => {
  await browser.close()
  await admin.stop()
  await service.stop()
  elsewhere.close()
})

const open = (options: BrowserContextOptions = {}) => openPage(browser, [admin.url, elsewhereUrl], options)

/** By keyboard alone: the first field has the focus after the link that skips the menu. */
async function signIn(page: Page, name: string, path = '/login'): Promise<void> {
  await page.goto(admin.url + path)
  await page.keyboard.press('Tab')
  await page.keyboard.press('Tab')
  await page.keyboard.type(name)
  await page.keyboard.press('Tab')
  await page.keyboard.type(password)
  await page.keyboard.press('Enter')
  await page.getByRole('button', { name: 'Sign out' }).waitFor()
}

test.each([true, false])(
  'people sign in by keyboard, get the page that they asked for, and sign out; with script: %s',
  async (javaScriptEnabled) => {
    const { page, expectNothingOdd } = await open({ javaScriptEnabled })
    await signIn(page, 'Ann', '/channels?state=held')
    expect(page.url()).toBe(`${admin.url}/channels?state=held`)
    await page.getByRole('button', { name: 'Sign out' }).click()
    await page.getByRole('heading', { name: 'Sign in' }).waitFor()
    await page.goto(`${admin.url}/support`)
    expect(page.url()).toBe(`${admin.url}/login?next=%2Fsupport`)
    expectNothingOdd()
    await page.context().close()
  },
)

test('a link on another site opens its page for who is signed in, and asks others to', async () => {
  const { page } = await open({ javaScriptEnabled: false })
  await page.goto(elsewhereUrl)
  await page.getByRole('link', { name: 'a list' }).click()
  await page.getByRole('button', { name: 'Sign in' }).waitFor()
  await signIn(page, 'Ann')
  await page.goto(elsewhereUrl)
  await page.getByRole('link', { name: 'a list' }).click()
  await page.getByRole('button', { name: 'Sign out' }).waitFor()
  expect(page.url()).toBe(`${admin.url}/channels?state=held`)
  await page.context().close()
})

test('the sign-in and the people can be used by everybody, at three widths, light and dark', async () => {
  const { page, expectNothingOdd } = await open()
  await page.goto(`${admin.url}/login`)
  await expectUsable(page)
  await signIn(page, 'Oz')
  for (const path of ['/people', '/support']) {
    await page.goto(admin.url + path)
    await expectUsable(page)
  }
  expectNothingOdd()
  await page.context().close()
})
