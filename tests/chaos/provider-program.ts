import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import { type Random, randomOf } from '../support/random.ts'
import { type Behaviour, behaviours, type ProviderCall } from './behaviours.ts'
import type { Order, RecordedCall, Report } from './provider.ts'

/**
 * A webhook receiver in a process of its own: in that of the load, it would answer late whenever that is busy. Each path is a
 * provider, which behaves as it is ordered to, and reports its calls.
 */
interface Provider {
  path: string
  random: Random
  behaviour: Behaviour
  replaced: Promise<void>
  /** Resolves `replaced`. */
  replace(): void
  calls: number
  callsOf: Map<string, number>
}

const reportAfterMs = 10

const providers = new Map<string, Provider>()
/** Calls that have come or changed since the last report. */
const changed = new Set<RecordedCall>()
const report = (message: Report) => process.send?.(message)

process.on('message', (order: Order) => {
  if (order.kind === 'sync') {
    reportCalls()
    report({ kind: 'synced' })
  } else if (order.kind === 'open') open(order.path, order.seed)
  else behave(order)
})
process.once('disconnect', () => process.exit())

const server = createServer(async (request, response) => {
  const body = await text(request).catch(() => undefined)
  // The request was aborted: no call.
  if (body === undefined) return
  const provider = providers.get(request.url ?? '')
  if (provider) await take(provider, { request, body, response })
  else response.writeHead(404).end()
})
// A killed caller resets its connections.
server.on('connection', (socket) => socket.on('error', () => {}))
server.listen(0, '127.0.0.1')
await once(server, 'listening')
report({ kind: 'listening', port: (server.address() as AddressInfo).port })

function open(path: string, seed: number): void {
  const behaviour = behaviours.accepting()
  providers.set(path, {
    ...{ path, behaviour, random: randomOf(seed, path), calls: 0, callsOf: new Map() },
    ...replaceable(),
  })
}

function behave({ path, name, args }: Extract<Order, { kind: 'behave' }>): void {
  const provider = providers.get(path)
  if (!provider) throw new Error(`${path} is not open`)
  const { replace } = provider
  const create = behaviours[name] as (...args: unknown[]) => Behaviour
  Object.assign(provider, { behaviour: create(...args) }, replaceable())
  replace()
}

function replaceable(): Pick<Provider, 'replaced' | 'replace'> {
  let replace = () => {}
  const replaced = new Promise<void>((resolve) => {
    replace = resolve
  })
  return { replaced, replace }
}

interface Exchange {
  request: IncomingMessage
  body: string
  response: ServerResponse
}

async function take(provider: Provider, { request, body, response }: Exchange): Promise<void> {
  const { path, behaviour, callsOf } = provider
  const requestId = String(request.headers['webhook-id'])
  const number = (callsOf.get(requestId) ?? 0) + 1
  callsOf.set(requestId, number)
  const call: ProviderCall = {
    requestId,
    contact: contactIn(body),
    number,
    arrivedAt: Date.now(),
    treatment: 'under way',
    effect: 'unknown',
    answeredAt: undefined,
    closedAt: undefined,
  }
  const recorded: RecordedCall = { path, index: provider.calls++, call }
  hasChanged(recorded)
  response.once('close', () => {
    call.closedAt = Date.now()
    hasChanged(recorded)
  })
  const treatment = await behaviour(call, provider)
  call.treatment = treatment.name
  if (!request.socket.destroyed) {
    call.effect = treatment.effect
    call.answeredAt = Date.now()
  }
  hasChanged(recorded)
  if (!request.socket.destroyed) await treatment.act(request, response)
}

/** Together with others, since a message for each change would cost both processes much. */
function hasChanged(recorded: RecordedCall): void {
  if (changed.size === 0) setTimeout(reportCalls, reportAfterMs)
  changed.add(recorded)
}

function reportCalls(): void {
  if (changed.size > 0) report({ kind: 'calls', calls: [...changed] })
  changed.clear()
}

function contactIn(body: string): string {
  const { contact } = JSON.parse(body) as { contact?: { value?: string } }
  return String(contact?.value)
}
