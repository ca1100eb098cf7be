import { setTimeout as sleep } from 'node:timers/promises'
import fc from 'fast-check'
import { expect } from 'vitest'
import { scheduledSends, sends } from '../../../db/schema.ts'
import { type Connections, openConnections } from './connections.ts'
import { type Coverage, cover } from './coverage.ts'
import { valueMark } from './good-bodies.ts'
import { nameMark } from './hostile-bodies.ts'
import { type Exchange, laws } from './laws.ts'
import { receiptRequests } from './receipt-requests.ts'
import { expectReceiptsRecorded, expectRecorded } from './recorded.ts'
import { bytesOf, type HostileRequest, hostileRequests } from './requests.ts'
import { buildWorld, sentIdsOf, type World } from './world.ts'

const maxAtOnce = 64
/** Until then a failed request is shrunk. */
const giveUpAfterMs = 240_000

/**
 * Sends `count` generated requests to a service of its own, many at once, and holds every answer against the laws; in
 * the end what it has recorded and logged. One seed always makes the same requests.
 *
 * @param coverage is added to.
 */
export async function runRound(seed: number, count: number, coverage: Coverage): Promise<void> {
  const world = await buildWorld()
  const connections = openConnections(Number(new URL(world.service.url).port))
  const acceptedIds = new Set([world.requestId, ...sentIdsOf(world)])
  const undecidedIds = new Set<string>()
  const client: Client = { connections, undecidedIds }
  let answered = 0
  const requests = fc.oneof(
    { weight: 6, arbitrary: hostileRequests(world) },
    { weight: 1, arbitrary: receiptRequests(world) },
  )
  const batches = fc.array(requests, { minLength: 1, maxLength: maxAtOnce, size: 'max' })
  const property = fc.asyncProperty(batches, async (batch) => {
    if (answered >= count) return
    const exchanges = (await Promise.all(batch.map((request) => exchange(client, request)))).flat()
    answered += exchanges.length
    for (const one of exchanges) parse(one)
    const accepted = exchanges.filter(({ answer }) => answer.status === 202)
    for (const { json } of accepted) acceptedIds.add(String(json?.requestId))
    await expectRecorded(world, accepted)
    for (const one of exchanges) cover(coverage, one)
  })
  try {
    const numRuns = Math.ceil(count / 25)
    await fc.assert(property, { seed, numRuns, interruptAfterTimeLimit: giveUpAfterMs })
    expect(answered).toBeGreaterThanOrEqual(count)
    await expectReceiptsRecorded(world)
    await expectNothingElse(world, acceptedIds, undecidedIds)
  } finally {
    connections.close()
    await world.service.stop()
  }
}

interface Client {
  connections: Connections
  /** The ids of requests that were answered 503. */
  undecidedIds: Set<string>
}

async function exchange(client: Client, request: HostileRequest): Promise<Exchange[]> {
  const first = await ask(client, request)
  if (!request.isRepeated) return [first]
  const second = await ask(client, request)
  const isKeyed = request.headers.some(([name]) => name === 'Idempotency-Key')
  if (isKeyed && first.answer.status === 202) expect(second.json).toStrictEqual(first.json)
  return [first, second]
}

/** A 503 says that the machine is too busy. Where it is the request's doing, it stays however often that is sent. */
async function ask(client: Client, request: HostileRequest, times = 4): Promise<Exchange> {
  const sent = client.connections.exchange(bytesOf(request), request.method === 'HEAD')
  const answer = await sent.catch((error: unknown) => {
    throw new Error(`${shown(request)} got no answer`, { cause: error })
  })
  if (answer.status === 503) client.undecidedIds.add(answer.headers.get('x-request-id') ?? '')
  if (answer.status === 503 && times > 1) {
    await sleep(Number(answer.headers.get('retry-after')) * 1000)
    return await ask(client, request, times - 1)
  }
  const isText = answer.headers.get('content-type')?.startsWith('text/plain')
  const hasJson = answer.body.length > 0 && !isText
  return { request, answer, json: hasJson ? JSON.parse(answer.body.toString()) : undefined }
}

function parse(one: Exchange) {
  for (const [name, law] of Object.entries(laws)) {
    try {
      law(one)
    } catch (error) {
      const { status, body } = one.answer
      throw new Error(`${name}: ${shown(one.request)} got ${status} ${body.toString()}`, { cause: error })
    }
  }
}

/**
 * Expects no row of a request that wasn't answered 202, but for a 503 on a machine that is too busy
 * (docs/decisions/0012-request-deadline.md). The log may have no error, and nothing that was sent.
 */
async function expectNothingElse({ service }: World, acceptedIds: Set<string>, undecidedIds: Set<string>) {
  const { db } = service.runtime
  const rows = await db.select({ requestId: sends.requestId }).from(sends)
  const scheduled = await db.select({ requestId: scheduledSends.requestId }).from(scheduledSends)
  const recordedIds = [...rows, ...scheduled].map(({ requestId }) => requestId)
  expect([...acceptedIds].filter((id) => !recordedIds.includes(id))).toEqual([])
  const surplusIds = recordedIds.filter((id) => !acceptedIds.has(id) && !undecidedIds.has(id))
  expect(surplusIds.map((id) => service.logsOf(id))).toEqual([])
  expect(undecidedIds.size).toBeLessThan(acceptedIds.size / 10)
  expect(service.logs.filter(({ level }) => level !== 'info' && level !== 'warn')).toEqual([])
  // A client's reference is logged, so that a send can be found by it.
  const lines = service.logs.map((line) => JSON.stringify({ ...line, reference: undefined }))
  expect(lines.filter((line) => line.includes(valueMark) || line.includes(nameMark))).toEqual([])
}

function shown(request: HostileRequest): string {
  const text = JSON.stringify(bytesOf(request).toString('latin1'))
  return text.length > 3000 ? `${text.slice(0, 3000)}… (${text.length})` : text
}
