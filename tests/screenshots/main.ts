import { mkdir, readdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { type Browser, chromium, type Locator, type Page } from 'playwright-core'
import { connectDatabase } from '../../db/connection/client.ts'
import { migrateDatabase } from '../../db/migrate.ts'
import { chromiumBinary } from '../../src/dev/embedded/chromium-binary.ts'
import { startEmbedded } from '../../src/dev/embedded/index.ts'
import { startService } from '../../src/dev/service-process.ts'
import { seedDemoAccount } from '../../src/dev/world/seed.ts'
import { recordDemo } from './demo.ts'
import { keepToday } from './today.ts'
import { keepWorld } from './world.ts'

const folder = join(import.meta.dirname, '../../docs/images')
const width = 1200
const waitingSends = 30

/** Draws the pictures of the docs from the current pages, each in light and in dark, and records the demo. */
const servers = await startEmbedded({ needs: { postgres: true, redis: true } })
const { file, env } = await chromiumBinary()
const inherited = Object.fromEntries(Object.entries(process.env).map(([name, value]) => [name, value ?? '']))
const browser = await chromium.launch({
  executablePath: file,
  env: { ...inherited, ...env },
  args: ['--no-sandbox'],
})
try {
  await mkdir(folder, { recursive: true })
  await drawAll(browser)
} finally {
  await browser.close()
  await servers.stop()
}
await recordDemo(join(folder, 'demo.svg'))
console.log((await readdir(folder)).join('\n'))

interface Shot {
  name: string
  url: string
  /** Height of the window, of which the picture is; without it the whole page is drawn. */
  height?: number
  /** Only this part of the page. */
  part?: (page: Page) => Locator
}

async function drawAll(browser: Browser): Promise<void> {
  const { databaseUrl = '', redisUrl = '', reaper } = servers
  await migrateDatabase(databaseUrl)
  const environment = {
    DATABASE_URL: databaseUrl,
    REDIS_URL: redisUrl,
    CREDENTIALS_KEY: Buffer.from('0123456789abcdefghijklmnopqrstuv').toString('base64'),
    API_KEY_PEPPER: 'a pepper that is there for pictures only',
    HOST: '127.0.0.1',
    PORT: '0',
    METRICS_PORT: '0',
    ADMIN_PORT: '0',
    PUBLIC_BASE_URL: 'https://messages.example.com',
    SUPPORT_SHOW_CONTENT: 'true',
    LOG_LEVEL: 'info',
  }
  const start = (entry: string, readyEvent: string) =>
    startService({ entry, readyEvent, environment, reaper })
  const [api, admin] = await Promise.all([
    start('src/server.ts', 'listening'),
    start('src/admin/main.ts', 'serving_admin'),
  ])
  const apiUrl = `http://127.0.0.1:${api.ready.port}`
  const adminUrl = `http://127.0.0.1:${admin.ready.adminPort}`

  const db = connectDatabase(databaseUrl, { poolSize: 1, queryTimeoutMs: 5000, onConnectionLost: () => {} })
  const { failed, uncertain } = await keepWorld(db, await drawTicket(browser))
  const { channelId } = await keepToday(db)
  await db.$client.end()
  const shots: Shot[] = [
    { name: 'today', url: adminUrl, height: 900 },
    { name: 'channel', url: `${adminUrl}/channels/${channelId}`, height: 780 },
    { name: 'support-failed', url: `${adminUrl}/support/${failed}`, height: 700 },
    {
      name: 'support-timeline',
      url: `${adminUrl}/support/${failed}`,
      part: (page) => page.getByRole('region', { name: 'Timeline' }),
    },
    { name: 'support-replay', url: `${adminUrl}/support/${uncertain}/replay`, height: 400 },
    { name: 'inbox', url: `${adminUrl}/inbox`, height: 900 },
    { name: 'api-docs', url: `${apiUrl}/docs`, height: 760 },
  ]
  for (const shot of shots) await draw(browser, shot)
  await waitInQueues(apiUrl, await seedDemoAccount(environment))
  await draw(browser, { name: 'queues', url: `${adminUrl}/queues`, height: 520 })
  await api.stop()
  await admin.stop()
}

async function draw(browser: Browser, { name, url, height, part }: Shot): Promise<void> {
  for (const colorScheme of ['light', 'dark'] as const) {
    const viewport = { width, height: height ?? 900 }
    const context = await browser.newContext({ viewport, colorScheme, deviceScaleFactor: 1.5 })
    const page = await context.newPage()
    const answer = await page.goto(url, { waitUntil: 'networkidle' })
    if (!answer?.ok())
      throw new Error(`${url} answered ${answer?.status()}: is the picture's page still there?`)
    const path = join(folder, `${name}-${colorScheme}.png`)
    const options = { path, animations: 'disabled' } as const
    if (part) await part(page).screenshot(options)
    else await page.screenshot({ ...options, fullPage: height === undefined })
    await context.close()
  }
  // The picture of releases that drew one scheme only.
  await rm(join(folder, `${name}.png`), { force: true })
}

/** A picture for a media message. */
async function drawTicket(browser: Browser): Promise<Buffer> {
  const page = await browser.newPage()
  await page.setContent(`<div style="width:320px;padding:24px;background:#4338ca;color:#fff;font:20px sans-serif">
    <b>Counter 4</b><div style="font-size:64px">A 27</div>14:00 to 18:00</div>`)
  const picture = await page.locator('div').first().screenshot()
  await page.close()
  return picture
}

/** Posts sends that no worker claims: those beyond the account's quota wait in the overflow queue. */
async function waitInQueues(apiUrl: string, { apiKey, channelId }: { apiKey: string; channelId: string }) {
  for (let n = 0; n < waitingSends; n++) {
    const answer = await fetch(`${apiUrl}/v1/messages`, {
      method: 'POST',
      headers: { Authorization: `Bearer ${apiKey}`, 'Content-Type': 'application/json' },
      body: JSON.stringify({
        channelId,
        contact: { value: `+49151234567${n + 10}` },
        message: { type: 'text', text: { value: 'Hello' } },
      }),
    })
    if (answer.status !== 202)
      throw new Error(`A send was answered with ${answer.status}: ${await answer.text()}`)
  }
}
