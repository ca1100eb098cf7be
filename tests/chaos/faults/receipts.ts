import { setTimeout as sleep } from 'node:timers/promises'
import { between, pick } from '../../support/random.ts'
import { load } from '../clients.ts'
import { compareDeliveries, type DeliveryLedger, type DeliveryRow, openDeliveries } from '../deliveries.ts'
import { type Fault, lateness, uncertainAtAll, violation } from '../fault.ts'
import { type Phase, settle } from '../phase.ts'

const slowestAnswerMs = 1500

const ledgers = new WeakMap<Phase, { deliveries: DeliveryLedger; rows: DeliveryRow[] }>()

/** The provider reports each message, some before its answer: while APIs are killed, and then while PostgreSQL is away. */
export const receipts: Fault = {
  name: 'receipts',
  share: 0.05,
  times: ({ apiKills }) => apiKills + 1,
  async strike(phase, { apiKills, outageSeconds }) {
    const { random, world } = phase
    const deliveries = openDeliveries(phase)
    const later: string[] = []
    phase.provider.behave('slow', 0, 200)
    phase.provider.onCall = ({ requestId }) => {
      if (phase.provider.calls.length % 2 === 0) deliveries.report(requestId)
      else later.push(requestId)
    }
    const kills = async () => {
      for (let kill = 0; kill < apiKills; kill++) {
        await sleep(between(random, 300, 800))
        await world.fleet.kill(pick(random, world.fleet.apis()))
        phase.faultsOver.push(Date.now())
        await world.fleet.complete()
      }
    }
    await load(phase, { count: phase.sends, seconds: 2 * apiKills, during: kills(), through: 'apis' })
    await settle(phase)
    // The others come while PostgreSQL is away.
    await world.servers.crashPostgres()
    const pauseMs = (outageSeconds * 1000) / (later.length + 1)
    for (const requestId of later) {
      deliveries.report(requestId)
      await sleep(pauseMs)
    }
    await world.servers.startPostgres()
    await deliveries.drained()
    ledgers.set(phase, { deliveries, rows: await readDeliveries(phase) })
    const posts = deliveries.posts.length
    phase.notes.push(`${posts} requests with receipts, ${repeatsOf(deliveries)} of them posted again`)
  },
  reach(phase, findings) {
    const { deliveries, rows } = ledgers.get(phase) ?? {}
    if (!deliveries || !rows) return ['it broke off']
    const answers = deliveries.posts.flatMap((post) => post.answers)
    // Without a status: the API was killed.
    const refusals = answers.filter(({ status }) => status !== 200)
    const others = refusals.filter(({ status }) => status !== undefined && status !== 503)
    return [
      ...compareDeliveries(deliveries.posts, rows).map(
        ({ requestId, what }) => `receipt of ${requestId}: ${what}`,
      ),
      ...rows.filter(({ delivery }) => delivery === null).map(({ requestId }) => `${requestId}: no receipt`),
      ...violation(others.length > 0, `${others.length} receipts got ${others[0]?.status}`),
      ...violation(!refusals.some(({ status }) => status === 503), 'no receipt got a 503'),
      ...lateness(
        refusals.some(({ ms }) => ms > slowestAnswerMs),
        'a request with receipts waited for longer than 1.5 s without a 200',
      ),
      ...uncertainAtAll(phase, findings),
    ]
  },
}

const repeatsOf = ({ posts }: DeliveryLedger) => posts.filter(({ answers }) => answers.length > 1).length

async function readDeliveries({ world, channelId }: Phase): Promise<DeliveryRow[]> {
  const { rows } = await world.db.$client.query<DeliveryRow>(
    `select request_id as "requestId", status, delivery,
            (select count(*)::int from send_events e where e.request_id = s.request_id and event = 'delivered') as told
     from sends s where channel_id = $1`,
    [channelId],
  )
  return rows
}
