import { createBullBoard } from '@bull-board/api'
import { BullMQAdapter } from '@bull-board/api/bullMQAdapter'
import { HonoAdapter } from '@bull-board/hono'
import { serveStatic } from '@hono/node-server/serve-static'
import { trimTrailingSlash } from 'hono/trailing-slash'
import { queuesOf } from '../queue/shard.ts'
import { type AdminRuntime, factory } from './context.ts'
import { PageError } from './errors.tsx'
import { allow } from './people/allow.ts'

const basePath = '/queues'

/** The board needs its own script, and inline styles. */
const policy = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self' 'unsafe-inline'",
  "img-src 'self' data:",
  "font-src 'self'",
  "connect-src 'self'",
  "worker-src 'self'",
  "form-action 'none'",
  "frame-ancestors 'none'",
  "base-uri 'self'",
].join('; ')

/** Of the queues of a shard, in their order. */
const descriptions = [
  'Sends within the quota of their account',
  'Sends beyond the quota of their account',
  'Endpoints that have callbacks due',
  'Endpoints in slow start that have callbacks due',
]

const linkElsewhere = /<link [^>]*href="https?:[^>]*>/g

/** A link to the support page. The board itself has only a menu behind an icon for such links. */
const linkBack = `<a href="/support" style="position: fixed; left: 1rem; bottom: 3.5rem; z-index: 1000;
  padding: 0.4rem 0.75rem; border: 1px solid; border-radius: 0.375rem; background: #fff; color: #0b57c2;
  font: 1rem system-ui, sans-serif; text-decoration: none">← Support</a>`
const boardItself = '<div id="root">'

/**
 * The queue board (docs/reference/admin.md). It is read-only: a job is only a wake-up, so removing or retrying one would at most
 * delay its send.
 */
export function queueBoard({ shards, formerShards }: AdminRuntime) {
  const shown = [...shards, ...formerShards]
  const adapter = new HonoAdapter(serveStatic).setBasePath(basePath)
  createBullBoard({
    queues: shown.flatMap((shard) => {
      const options = { readOnlyMode: true, prefix: shown.length === 1 ? '' : `${shard.name}-` }
      return queuesOf(shard).map(
        (queue, index) => new BullMQAdapter(queue, { ...options, description: descriptions[index] ?? '' }),
      )
    }),
    serverAdapter: adapter,
    options: { uiConfig: { boardTitle: 'Queues' } },
  })

  const board = factory.createApp()
  board.use(allow('operator'), trimTrailingSlash())
  board.use(async (c, next) => {
    if (c.req.method !== 'GET' && c.req.method !== 'HEAD')
      throw new PageError(405, 'The queue board is read-only.', { Allow: 'GET, HEAD' })
    await next()
    // The board's page loads fonts from another host.
    if (c.res.headers.get('Content-Type')?.startsWith('text/html')) {
      const html = await c.res.text()
      const page = html.replace(linkElsewhere, '').replace(boardItself, linkBack + boardItself)
      c.res = new Response(page, c.res)
    }
    c.res.headers.set('Content-Security-Policy', policy)
  })
  board.route('/', adapter.registerPlugin())
  return board
}
