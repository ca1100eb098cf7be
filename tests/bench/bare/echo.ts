import type { AddressInfo } from 'node:net'
import { serve } from '@hono/node-server'
import { Hono } from 'hono'
import { readSettings } from '../../../src/platform/settings/settings.ts'

/** The cost of HTTP alone: reads a JSON body, and answers with JSON. */
const settings = readSettings()
const app = new Hono()
app.post('/v1/messages', async (c) => {
  const { channelId } = await c.req.json()
  return c.json({ requestId: channelId }, 202)
})
const server = serve({ fetch: app.fetch, hostname: settings.HOST, port: settings.PORT }, () => {
  console.log(JSON.stringify({ event: 'listening', port: (server.address() as AddressInfo).port }))
})
process.once('SIGTERM', () => process.exit())
