import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import axe from 'axe-core'
import type { Browser } from 'playwright-core'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { startTestAdmin, type TestAdmin } from '../support/admin.ts'
import { axeFaults } from '../support/axe.ts'
import { openBrowser, openPage } from '../support/browser.ts'
import { buildLongWorld, type LongWorld } from '../support/long-world.ts'
import { fitFaults } from '../support/page-fit.ts'
import { buildPerson, signIn } from '../support/people.ts'
import { startTestService, type TestService, testSecrets } from '../support/service.ts'

/** Kept by CI as the run's artifacts. */
const folder = join(import.meta.dirname, '../pictures')
const widths = [1280, 390]
const schemes = ['light', 'dark'] as const

const longPerson = 'Maximiliane Wolkenstein-Rodeneck (operations, second shift)'

let service: TestService
let admin: TestAdmin
let browser: Browser
let world: LongWorld

beforeAll(async () => {
  await mkdir(folder, { recursive: true })
  service = await startTestService()
  admin = await startTestAdmin(service, { ...testSecrets, SUPPORT_SHOW_CONTENT: 'true' })
  browser = await openBrowser()
  world = await buildLongWorld(service)
})

afterAll(async () => {
  await browser.close()
  await admin.stop()
  await service.stop()
})

const pages: [name: string, path: (world: LongWorld) => string][] = [
  ['today', () => '/?account='],
  ['today-of-an-account', ({ accountId }) => `/?account=${accountId}`],
  ['sends', () => '/sends'],
  ['sends-failed', ({ accountId }) => `/sends?accountId=${accountId}&status=failed`],
  ['sends-of-none', ({ channelId }) => `/sends?channelId=${channelId}&status=canceled`],
  ['channels', () => '/channels'],
  ['channel', ({ channelId }) => `/channels/${channelId}`],
  ['channel-held', ({ heldChannelId }) => `/channels/${heldChannelId}`],
  ['endpoints', () => '/endpoints'],
  ['endpoint', ({ endpointId }) => `/endpoints/${endpointId}`],
  ['send-failed', ({ requestId }) => `/support/${requestId}`],
  ['send-uncertain', ({ uncertain }) => `/support/${uncertain}`],
  ['send-waiting', ({ waiting }) => `/support/${waiting}?updates=off`],
  ['callbacks', ({ requestId }) => `/support/${requestId}/callbacks`],
  ['replay', ({ requestId }) => `/support/${requestId}/replay`],
  ['settle', ({ uncertain }) => `/support/${uncertain}/settle`],
  ['contact', ({ requestId }) => `/contact?requestId=${requestId}`],
  ['contacts', () => '/contact'],
  ['suppressions', ({ accountId }) => `/suppressions?accountId=${accountId}`],
  ['find', () => '/support'],
  ['found', () => '/support?q=131047'],
  ['not-found', () => '/support?q=nothing-that-is-there'],
  ['refused', () => '/refused'],
  ['inbox', () => '/inbox'],
  ['queues', () => '/queues'],
  ['audit', () => '/audit'],
  ['people', () => '/people'],
  ['accounts', () => '/accounts?account='],
  ['account', ({ accountId }) => `/accounts/${accountId}`],
  ['account-new', () => '/accounts/new'],
  ['key-new', ({ accountId }) => `/accounts/${accountId}/keys/new`],
  ['key-revoke', ({ accountId, keyId }) => `/accounts/${accountId}/keys/${keyId}/revoke`],
  ['channel-new', () => '/channels/new?account='],
  ['channel-new-smtp', ({ accountId }) => `/channels/new?accountId=${accountId}&provider=smtp`],
  ['channel-change', ({ channelId }) => `/channels/${channelId}/change`],
  ['channel-try', ({ channelId }) => `/channels/${channelId}/try`],
  ['channel-tried', ({ channelId, requestId }) => `/channels/${channelId}/try?requestId=${requestId}`],
  ['templates', ({ channelId }) => `/channels/${channelId}/templates`],
  ['template-set', ({ channelId }) => `/channels/${channelId}/templates/set`],
  ['endpoint-new', ({ accountId }) => `/endpoints/new?accountId=${accountId}`],
  ['endpoint-change', ({ endpointId }) => `/endpoints/${endpointId}/change`],
  ['endpoint-secret', ({ endpointId }) => `/endpoints/${endpointId}/rotate-secret`],
  ['endpoint-delete', ({ endpointId }) => `/endpoints/${endpointId}/delete`],
  ['channel-delete', ({ channelId }) => `/channels/${channelId}/delete`],
  ['which-account', () => '/?account=o'],
  ['no-such-page', () => '/no-such-page'],
]

test.each(pages)(
  '%s: no text is cut, leaves its place or overlaps, at two widths, light and dark',
  async (name, path) => {
    await draw(name, path(world))
  },
)

/** Loads the page once for its widths and colours. @param session the cookie of a person. @returns its address. */
async function draw(name: string, path: string, session?: string): Promise<string> {
  const { page, expectNothingOdd } = await openPage(browser, [admin.url])
  if (session !== undefined)
    await page.context().addCookies([{ name: 'outbound_session', value: session, url: admin.url }])
  const answer = await page.goto(admin.url + path, { waitUntil: 'networkidle' })
  await page.evaluate(axe.source)
  for (const width of widths) {
    await page.setViewportSize({ width, height: 900 })
    for (const colorScheme of schemes) {
      await page.emulateMedia({ colorScheme })
      await page.screenshot({
        path: join(folder, `${name}-${width}-${colorScheme}.png`),
        fullPage: true,
        animations: 'disabled',
      })
      expect(await fitFaults(page), `${width} px`).toEqual([])
      const faults = await axeFaults(page, colorScheme === 'light' ? 'all' : 'color-contrast')
      expect(faults, `${width} px, ${colorScheme}`).toEqual([])
    }
  }
  // A page with a 4xx is an error to the browser.
  if (answer?.ok()) expectNothingOdd()
  await page.context().close()
  return page.url()
}

test('the menu of a narrow window opens without script, and holds every page and the account', async () => {
  const context = await browser.newContext({
    javaScriptEnabled: false,
    viewport: { width: 390, height: 844 },
  })
  const still = await context.newPage()
  await still.goto(`${admin.url}/sends?account=${world.accountId}`)
  const { height = 0 } = (await still.locator('header').boundingBox()) ?? {}
  expect(height).toBeLessThanOrEqual(64)
  await still.getByText('Menu', { exact: true }).click()
  await still.getByRole('link', { name: 'Channels' }).click()
  await still.waitForURL(`${admin.url}/channels`)
  await still.getByText('Menu', { exact: true }).click()
  expect(await still.locator('#account-in-menu').inputValue()).not.toBe('')
  await context.close()
})

test('the name of an account is completed while it is typed, and the account is opened', async () => {
  const { page, expectNothingOdd } = await openPage(browser, [admin.url])
  await page.goto(`${admin.url}/channels?account=`)
  const field = page.locator('#account')
  await field.pressSequentially('anoth')
  await page.locator('#account-names option[value="Another one"]').waitFor({ state: 'attached' })
  await field.fill('Another one')
  await page.waitForURL(/account=Another/)
  await page.getByText('No channel found.').waitFor()
  expectNothingOdd()
  await page.context().close()
})

test('login: no text is cut, leaves its place or overlaps, at two widths, light and dark', async () => {
  // From the first person on, nobody is signed in by itself.
  await buildPerson(service, 'Ann', 'support')
  expect(await draw('login', '/channels')).toContain('/login')
})

test.each([
  ['person', `/people/person?${new URLSearchParams({ name: longPerson })}`],
  ['person-new', '/people/new'],
  ['person-remove', `/people/remove?${new URLSearchParams({ name: longPerson })}`],
  ['people-some', '/people'],
  ['me', '/me'],
])('%s: no text is cut, leaves its place or overlaps, at two widths, light and dark', async (name, path) => {
  await buildPerson(service, longPerson, 'operator')
  await buildPerson(service, 'Oz', 'operator')
  const { Cookie } = await signIn(admin, 'Oz')
  expect(await draw(name, path, Cookie.split('=')[1])).toBe(admin.url + path)
})

test.each([
  ['cut', '<p style="width:50px;overflow:hidden;white-space:nowrap">A long text that is cut</p>'],
  [
    'overlap',
    '<div style="position:relative;height:2em"><b style="position:absolute;left:0;top:0">One text</b><b style="position:absolute;left:5px;top:2px">Another</b></div>',
  ],
  ['in pieces', '<b style="display:block;width:20px;overflow-wrap:anywhere">123,456</b>'],
  ['too wide', '<div style="width:3000px">wide</div>'],
  [
    'leaves its place',
    '<section style="width:60px"><b style="white-space:nowrap">A text that is wider than its section</b></section>',
  ],
])('a text that is %s is found', async (fault, html) => {
  // The page of the others is under the console's policy, which allows no styles of its own.
  const planted = await browser.newPage()
  await planted.setContent(html)
  expect((await fitFaults(planted)).join()).toContain(fault)
  await planted.close()
})
