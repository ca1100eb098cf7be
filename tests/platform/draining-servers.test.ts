import { EventEmitter, once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { Hono } from 'hono'
import { expect, test } from 'vitest'
import type { AdminApp } from '../../src/admin/context.ts'
import { listen } from '../../src/admin/http/listen.ts'
import { serveHealth } from '../../src/platform/health/health-server.ts'
import { Readiness } from '../../src/platform/health/readiness.ts'
import { endConnections } from '../../src/platform/http/exchanges.ts'
import { serviceOfFile } from '../support/service.ts'

const service = await serviceOfFile()

test('an answer of the admin process under way when its shutdown begins has Connection: close', async () => {
  const held = new EventEmitter()
  const app = new Hono().get('/', async (context) => {
    setImmediate(() => held.emit('asked'))
    await once(held, 'answer')
    return context.text('answered')
  })
  const server = await listen(app as unknown as AdminApp, { host: '127.0.0.1', port: 0 })
  const asked = once(held, 'asked')
  const answering = fetch(`http://127.0.0.1:${server.port}/`)
  await asked
  const stopped = server.stop()
  held.emit('answer')
  const answer = await answering
  expect([await answer.text(), answer.headers.get('Connection')]).toEqual(['answered', 'close'])
  await stopped
})

test("the health server's answers ask for the end of their connections while the process drains", async () => {
  const server = await serveHealth(service.api, new Readiness(service.api))
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/readyz`
  const connectionOf = async () => (await fetch(url)).headers.get('Connection')
  expect(await connectionOf()).toBe('keep-alive')
  endConnections(server)
  expect(await connectionOf()).toBe('close')
  const closed = once(server, 'close')
  server.close()
  await closed
})
