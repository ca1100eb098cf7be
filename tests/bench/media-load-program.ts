import { randomBytes } from 'node:crypto'
import { Agent, createServer, request } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import { setTimeout as sleep } from 'node:timers/promises'
import { maxMediaBytes } from '../../src/core/messages/message-body.ts'

/** Posts of media of the largest size, at a rate or all at once. */
export interface MediaLoad {
  url: string
  apiKey: string
  channelId: string
  count: number
  perSecond?: number
  /** The prefix of the contacts, different in each load. */
  contacts: string
}

/** The status of each answer, or the error. */
export type MediaAnswers = { status: number | string; ms: number }[]

/**
 * Generates the requested load, in a process apart from the measured and the measuring ones. The requests are prepared, so that
 * they only have to be written to the socket.
 */
const content = Buffer.from(randomBytes(maxMediaBytes).toString('base64'))
const agent = new Agent({ keepAlive: true })

const server = createServer(async (incoming, outgoing) => {
  const load: MediaLoad = JSON.parse(await text(incoming))
  const everyMs = load.perSecond === undefined ? 0 : 1000 / load.perSecond
  const answers = await Promise.all(
    Array.from({ length: load.count }, async (_, index) => {
      await sleep(index * everyMs)
      const postedAt = performance.now()
      const status = await post(load, index)
      return { status, ms: performance.now() - postedAt }
    }),
  )
  outgoing.end(JSON.stringify(answers satisfies MediaAnswers))
})
server.listen(0, '127.0.0.1', () => {
  console.log(JSON.stringify({ event: 'prepared', port: (server.address() as AddressInfo).port }))
})

function post({ url, apiKey, channelId, contacts }: MediaLoad, index: number): Promise<number | string> {
  const body = JSON.stringify({
    channelId,
    contact: { value: `+${contacts}${String(index).padStart(5, '0')}` },
    message: { type: 'media', media: { mediaType: 'document', base64: '|' } },
  })
  const [before = '', after = ''] = body.split('|')
  return new Promise((resolve) => {
    const outgoing = request(`${url}/v1/messages`, {
      agent,
      method: 'POST',
      headers: {
        authorization: `Bearer ${apiKey}`,
        'content-type': 'application/json',
        'content-length': before.length + content.length + after.length,
      },
    })
    outgoing.on('error', ({ message }) => resolve(message))
    outgoing.on('response', (incoming) => {
      incoming.resume()
      incoming.on('end', () => resolve(incoming.statusCode ?? 0))
    })
    outgoing.write(before)
    outgoing.write(content)
    outgoing.end(after)
  })
}
