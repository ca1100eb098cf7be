import { createServer } from 'node:net'
import { expect, test } from 'vitest'
import { listenAt } from '../../../../src/platform/http/listen-at.ts'

test.each(['[::1]', '::1', '127.0.0.1', 'localhost'])('a server listens at %s', async (host) => {
  const server = createServer()
  await listenAt(server, { host, port: 0, settings: { host: 'HOST', port: 'PORT' } })
  expect(server.listening).toBe(true)
  server.close()
})
