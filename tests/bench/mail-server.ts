import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import { SMTPServer } from 'smtp-server'
import { nowMs } from './clock.ts'

interface Mail {
  requestId: string
  contact: string
  arrivedAt: number
}

/** Starts a server that accepts every mail. @returns its port. */
export async function openMailServer(onMail: (mail: Mail) => void): Promise<number> {
  const server = new SMTPServer({
    authOptional: true,
    disabledCommands: ['STARTTLS'],
    disableReverseLookup: true,
    async onData(stream, { envelope }, next) {
      const arrivedAt = nowMs()
      const contact = envelope.rcptTo[0]?.address ?? ''
      const [, requestId = ''] = /^message-id: <([^@>]+)@/im.exec(await text(stream)) ?? []
      onMail({ requestId, contact, arrivedAt })
      next()
    },
  })
  // A killed worker resets its connections.
  server.on('error', () => {})
  server.listen(0, '127.0.0.1')
  await once(server.server, 'listening')
  return (server.server.address() as AddressInfo).port
}
