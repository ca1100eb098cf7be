import { once } from 'node:events'
import { createServer } from 'node:http'
import { text } from 'node:stream/consumers'
import { setTimeout as sleep } from 'node:timers/promises'
import { Webhook } from 'standardwebhooks'
import { v7 as uuidv7 } from 'uuid'
import { createEndpoint, deleteEndpoint } from '../../db/callbacks/endpoints.ts'
import { mintWebhookSecret } from '../../src/core/callbacks/callback.ts'
import { sealConfig } from '../../src/core/channels/sealed-config.ts'
import { groupBy } from '../support/group-by.ts'
import { between } from '../support/random.ts'
import { testSecrets } from '../support/service.ts'
import type { Discrepancy } from './ledgers.ts'
import type { Phase } from './phase.ts'

const refusedShare = 0.05
/** At most four calls of an endpoint are made at a time, so this bounds how many callbacks it gets in a second. */
const slowestMs = 10

/** A callback that came whole and verified. */
export interface ReceivedCallback {
  webhookId: string
  requestId: string
  sequence: number
  body: string
  /** Whether it was answered with a 2xx. */
  isTaken: boolean
}

export interface CallbackReceiver {
  endpointId: string
  received: ReceivedCallback[]
  faults: string[]
  stop(): Promise<void>
}

/** An endpoint of the phase's account, which refuses some calls, and answers others after a while. */
export async function openCallbackReceiver({
  world: { db },
  channelId,
  random,
}: Phase): Promise<CallbackReceiver> {
  const received: ReceivedCallback[] = []
  const faults: string[] = []
  const secret = mintWebhookSecret()
  const webhook = new Webhook(secret)
  const server = createServer(async (request, response) => {
    const body = await text(request).catch(() => undefined)
    if (body === undefined) return
    try {
      webhook.verify(body, request.headers as Record<string, string>)
    } catch {
      faults.push(`a callback was not signed right: ${body}`)
      response.writeHead(401).end()
      return
    }
    const { data } = JSON.parse(body) as { data: { requestId: string; sequence: number } }
    const isTaken = between(random, 0, 1) > refusedShare
    received.push({ ...data, webhookId: String(request.headers['webhook-id']), body, isTaken })
    await sleep(between(random, 0, slowestMs))
    response.writeHead(isTaken ? 204 : 503).end()
  })
  server.on('connection', (socket) => socket.on('error', () => {}))
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as { port: number }
  const { rows } = await db.$client.query<{ id: string }>(
    'select account_id as id from channels where id = $1',
    [channelId],
  )
  const id = uuidv7()
  const sealedSecret = sealConfig({ secret }, id, Buffer.from(testSecrets.CREDENTIALS_KEY, 'base64'))
  const url = `http://127.0.0.1:${port}/callbacks`
  await createEndpoint(db, { id, accountId: rows[0]?.id ?? '', url, events: null, sealedSecret })
  return {
    endpointId: id,
    received,
    faults,
    async stop() {
      await deleteEndpoint(db, id)
      server.close()
      server.closeAllConnections()
    },
  }
}

/** A send and its changes, by the database. */
export interface ChangedSend {
  requestId: string
  changes: number
  /** Its failures by channels with a fallback, which come first: they count as changes, and no callback is about them. */
  untold?: number
}

/** Compares the callbacks that the endpoint got with the sends: nothing lost, nothing out of order, repeats with the same id and body. */
export function compareCallbacks(
  received: readonly ReceivedCallback[],
  sends: readonly ChangedSend[],
): Discrepancy[] {
  const ofSend = groupBy(received, ({ requestId }) => requestId)
  return sends.flatMap(({ requestId, changes, untold = 0 }) => {
    const calls = ofSend.get(requestId) ?? []
    const wrong = (what: string) => ({ requestId, what })
    const first = [...new Set(calls.map(({ sequence }) => sequence))]
    const taken = new Set(calls.filter(({ isTaken }) => isTaken).map(({ sequence }) => sequence))
    const bodies = new Set(calls.map(({ webhookId, body }) => `${webhookId} ${body}`))
    const ids = new Set(calls.map(({ webhookId }) => webhookId))
    return [
      ...Array.from({ length: changes - untold }, (_, at) => at + 1 + untold)
        .filter((sequence) => !taken.has(sequence))
        .map((sequence) => wrong(`change ${sequence} of ${changes} was not taken by the endpoint`)),
      ...(first.some((sequence, at) => at > 0 && sequence < (first[at - 1] ?? 0))
        ? [wrong(`out of order: ${first}`)]
        : []),
      ...(ids.size !== first.length || bodies.size !== ids.size
        ? [wrong('a repeat had another id or body')]
        : []),
    ]
  })
}
