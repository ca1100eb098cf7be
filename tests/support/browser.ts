import { type Browser, type BrowserContextOptions, chromium, type Page } from 'playwright-core'
import { expect, inject } from 'vitest'

/** A headless Chromium. Without its sandbox, which needs rights that containers rarely give: it opens our pages only. */
export async function openBrowser(): Promise<Browser> {
  const { file, env } = inject('chromium')
  const inherited = Object.fromEntries(
    Object.entries(process.env).map(([name, value]) => [name, value ?? '']),
  )
  return await chromium.launch({
    executablePath: file,
    env: { ...inherited, ...env },
    args: ['--no-sandbox'],
  })
}

export interface WatchedPage {
  page: Page
  /** No other host was called, no script or style was refused, nothing failed, and nothing asked with a dialog. */
  expectNothingOdd(): void
}

/** A page in its own browser context. Every request and message of it is watched. */
export async function openPage(
  browser: Browser,
  origins: string[],
  options: BrowserContextOptions = {},
): Promise<WatchedPage> {
  const context = await browser.newContext({ viewport: { width: 1200, height: 900 }, ...options })
  const page = await context.newPage()
  const odd: string[] = []
  page.on('request', (request) => {
    const url = request.url()
    if (!origins.some((origin) => url.startsWith(`${origin}/`)) && !url.startsWith('data:'))
      odd.push(`called ${url}`)
  })
  // Violations of a page's policy are reported here, too.
  page.on('console', (line) => {
    if (line.type() === 'error' || line.type() === 'warning') odd.push(`${line.type()}: ${line.text()}`)
  })
  page.on('pageerror', (error) => odd.push(`threw ${error.message}`))
  page.on('requestfailed', (request) => {
    // A page that is left, or updates, drops what it still loads.
    if (request.failure()?.errorText !== 'net::ERR_ABORTED') odd.push(`failed ${request.url()}`)
  })
  page.on('dialog', (dialog) => {
    odd.push(`asked ${dialog.message()}`)
    void dialog.dismiss()
  })
  return { page, expectNothingOdd: () => expect(odd).toEqual([]) }
}
