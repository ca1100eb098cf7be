import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import { SMTPServer } from 'smtp-server'
import { nowMs } from './clock.ts'
import type { ProviderCall } from './provider-program.ts'

/** Takes every mail and keeps it as a call at the path `mail`. @returns its port. */
export async function openMailServer(calls: ProviderCall[]): Promise<number> {
  const server = new SMTPServer({
    authOptional: true,
    disabledCommands: ['STARTTLS'],
    disableReverseLookup: true,
    async onData(stream, { envelope }, next) {
      const arrivedAt = nowMs()
      const contact = envelope.rcptTo[0]?.address ?? ''
      const [, requestId = ''] = /^message-id: <([^@>]+)@/im.exec(await text(stream)) ?? []
      calls.push({ requestId, path: 'mail', contact, arrivedAt, status: 250 })
      next()
    },
  })
  // A worker that is killed resets its connections.
  server.on('error', () => {})
  server.listen(0, '127.0.0.1')
  await once(server.server, 'listening')
  return (server.server.address() as AddressInfo).port
}
