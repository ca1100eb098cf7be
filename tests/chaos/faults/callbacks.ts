import { setTimeout as sleep } from 'node:timers/promises'
import { pick } from '../../support/random.ts'
import {
  type CallbackReceiver,
  type ChangedSend,
  compareCallbacks,
  openCallbackReceiver,
} from '../callback-receiver.ts'
import { load } from '../clients.ts'
import { openDeliveries } from '../deliveries.ts'
import { type Fault, violation } from '../fault.ts'
import { type Phase, settle } from '../phase.ts'

const standsStillAfterMs = 60_000
const askEveryMs = 250
const killEveryMs = 2000

const ledgers = new WeakMap<Phase, { receiver: CallbackReceiver; sends: ChangedSend[]; waiting: number }>()

/** An endpoint gets each change, with receipts: while workers and APIs are killed by turns, and after both stores were away. */
export const callbacks: Fault = {
  name: 'callbacks',
  share: 0.05,
  times: ({ workerKills }) => workerKills + 2,
  async strike(phase, { workerKills }) {
    const { random, world } = phase
    phase.provider.behave('slow', 0, 100)
    const strikes = async () => {
      for (let kill = 0; kill < workerKills; kill++) {
        await sleep(killEveryMs)
        const members = kill % 2 === 0 ? world.fleet.workers() : world.fleet.apis()
        await world.fleet.kill(pick(random, members))
        await world.fleet.complete()
      }
      await world.servers.crashPostgres()
      await sleep(killEveryMs)
      await world.servers.startPostgres()
      await world.servers.killRedis()
      await sleep(killEveryMs)
      await world.servers.startRedis()
      phase.faultsOver.push(Date.now())
    }
    const seconds = (workerKills * killEveryMs) / 1000 + 10
    await calledBack(phase, () =>
      load(phase, { count: phase.sends, seconds, during: strikes(), through: 'apis' }),
    )
  },
  mayFail: () => false,
  reach: callbackFaults,
}

/** Does the work while an endpoint gets a callback about each change, and every call is reported as delivered; waits for both. */
export async function calledBack(phase: Phase, work: () => Promise<void>): Promise<void> {
  const receiver = await openCallbackReceiver(phase)
  const deliveries = openDeliveries(phase)
  phase.provider.onCall = ({ requestId }) => deliveries.report(requestId)
  await work()
  await settle(phase)
  await deliveries.drained()
  const waiting = await untilTold(phase, receiver)
  ledgers.set(phase, { receiver, sends: await readSends(phase), waiting })
  await receiver.stop()
  const repeats = receiver.received.length - new Set(receiver.received.map(({ webhookId }) => webhookId)).size
  phase.notes.push(`${receiver.received.length} callbacks, ${repeats} of them repeats`)
}

/** The violations of callbacks, after `calledBack`. */
export function callbackFaults(phase: Phase): string[] {
  const { receiver, sends, waiting } = ledgers.get(phase) ?? {}
  if (!receiver || !sends) return ['it broke off']
  return [
    ...receiver.faults,
    ...violation(Boolean(waiting), `${waiting} callbacks were not told, and none for a minute`),
    ...compareCallbacks(receiver.received, sends).map(
      ({ requestId, what }) => `callbacks of ${requestId}: ${what}`,
    ),
  ]
}

/** Waits until all callbacks are delivered, or no more are. @returns how many wait then. */
async function untilTold(phase: Phase, receiver: CallbackReceiver): Promise<number> {
  let fewest = Number.POSITIVE_INFINITY
  let endsAt = Date.now() + standsStillAfterMs
  for (;;) {
    const waiting = await countWaiting(phase, receiver)
    if (waiting < fewest) endsAt = Date.now() + standsStillAfterMs
    fewest = Math.min(fewest, waiting)
    if (waiting === 0 || Date.now() > endsAt) return waiting
    await sleep(askEveryMs)
  }
}

async function countWaiting({ world }: Phase, { endpointId }: CallbackReceiver): Promise<number> {
  const { rows } = await world.db.$client.query<{ waiting: number }>(
    'select count(*)::int as waiting from callbacks where endpoint_id = $1 and finished_at is null',
    [endpointId],
  )
  return rows[0]?.waiting ?? 0
}

async function readSends({ world, channelId }: Phase): Promise<ChangedSend[]> {
  const { rows } = await world.db.$client.query<ChangedSend>(
    `select request_id as "requestId", change_number as changes,
            (select count(*)::int from send_events e where e.request_id = s.request_id and event = 'fell_back') as untold
     from sends s where channel_id = $1`,
    [channelId],
  )
  return rows
}
