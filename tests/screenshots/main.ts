import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { type Browser, chromium, type Locator, type Page } from 'playwright-core'
import { connectDatabase } from '../../db/connection/client.ts'
import { migrateDatabase } from '../../db/migrate.ts'
import { chromiumBinary } from '../../src/dev/embedded/chromium-binary.ts'
import { startEmbedded } from '../../src/dev/embedded/index.ts'
import { startService } from '../../src/dev/service-process.ts'
import { type Seed, seedDemoAccount } from '../../src/dev/world/seed.ts'
import { keepWorld, type World } from './world.ts'

const folder = join(import.meta.dirname, '../../docs/images')
const width = 1200

/** Draws the pictures of the docs from the current pages. */
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

async function drawAll(browser: Browser): Promise<void> {
  const { databaseUrl = '', redisUrl = '', reaper } = servers
  await migrateDatabase(databaseUrl)
  const environment = {
    DATABASE_URL: databaseUrl,
    REDIS_URL: redisUrl,
    CREDENTIALS_KEY: Buffer.alloc(32, 7).toString('base64'),
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

  const context = await browser.newContext({ viewport: { width, height: 900 }, colorScheme: 'light' })
  const page = await context.newPage()
  const db = connectDatabase(databaseUrl, { poolSize: 1, queryTimeoutMs: 5000, onConnectionLost: () => {} })
  const world = await keepWorld(db, await drawTicket(page))
  await db.$client.end()
  await drawSupport(page, adminUrl, world)
  await drawQueues(page, adminUrl, apiUrl, await seedDemoAccount(environment))
  await drawApiDocs(page, apiUrl)
  await api.stop()
  await admin.stop()
}

/** @param what the whole page, its visible part, or one element. */
async function draw(page: Page, name: string, what: 'page' | 'window' | Locator = 'page'): Promise<void> {
  const path = join(folder, `${name}.png`)
  if (typeof what === 'string')
    await page.screenshot({ path, animations: 'disabled', fullPage: what === 'page' })
  else await what.screenshot({ path })
  console.log(path)
}

/** A picture for a media message. */
async function drawTicket(page: Page): Promise<Buffer> {
  await page.setContent(`<div style="width:320px;padding:24px;background:#0b57c2;color:#fff;font:20px sans-serif">
    <b>Counter 4</b><div style="font-size:64px">A 27</div>14:00 to 18:00</div>`)
  return await page.locator('div').first().screenshot()
}

async function drawSupport(page: Page, adminUrl: string, { failed, uncertain }: World): Promise<void> {
  await page.setViewportSize({ width, height: 580 })
  await page.goto(`${adminUrl}/support/${failed}`)
  await draw(page, 'support-failed', 'window')
  await draw(page, 'support-timeline', page.getByRole('region', { name: 'Timeline' }))
  await page.setViewportSize({ width, height: 400 })
  await page.goto(`${adminUrl}/support/${uncertain}/replay`)
  await draw(page, 'support-replay')
  await page.goto(`${adminUrl}/inbox`, { waitUntil: 'networkidle' })
  await draw(page, 'inbox')
}

/** Draws the queues with sends that no worker claims: those beyond the account's quota wait in the overflow queue. */
async function drawQueues(page: Page, adminUrl: string, apiUrl: string, seed: Seed): Promise<void> {
  const { apiKey, channelId } = seed
  for (let n = 10; n < 40; n++) {
    await fetch(`${apiUrl}/v1/messages`, {
      method: 'POST',
      headers: { Authorization: `Bearer ${apiKey}`, 'Content-Type': 'application/json' },
      body: JSON.stringify({
        channelId,
        contact: { value: `+491512345${n}` },
        message: { type: 'text', text: { value: 'Hello' } },
      }),
    })
  }
  await page.setViewportSize({ width, height: 420 })
  await page.goto(`${adminUrl}/queues`)
  await page.getByText('14 Jobs').waitFor()
  await draw(page, 'queues')
}

async function drawApiDocs(page: Page, apiUrl: string): Promise<void> {
  await page.setViewportSize({ width, height: 760 })
  await page.goto(`${apiUrl}/docs`)
  await page.locator('#sendMessageOnChannel .sample').first().scrollIntoViewIfNeeded()
  await draw(page, 'api-docs', 'window')
}
