import { setTimeout as sleep } from 'node:timers/promises'
import { updateChannel } from '../../../db/accounts/channels.ts'
import { groupBy } from '../../support/group-by.ts'
import { between } from '../../support/random.ts'
import { isRefusedContact, type ProviderCall } from '../behaviours.ts'
import { load } from '../clients.ts'
import { openDeliveries } from '../deliveries.ts'
import { type Fault, violation, violationsOf } from '../fault.ts'
import { type Phase, type PhaseRow, settle } from '../phase.ts'
import { killSome, killsOf } from './some-kills.ts'
import { uncertainOnlyInFlight } from './workers.ts'

/** The course of a fallback by the ledgers of its two channels. */
interface Course {
  second: readonly ProviderCall[]
  /** When each message of the first channel was first reported as undelivered. */
  reportedAt: ReadonlyMap<string, number>
}

const courses = new WeakMap<Phase, Course>()
/** Every third contact that the first channel accepts, and doesn't reach. */
const isUnreached = (contact: string) => Number(contact.slice(-4)) % 3 === 1

/**
 * The first channel refuses a third of the sends at every attempt, and reports another third as undelivered: before its answer or
 * late, each twice. Meanwhile workers and APIs are killed, and PostgreSQL and Redis are away for a moment.
 */
export const fallbacks: Fault = {
  name: 'fallbacks',
  share: 0.05,
  times: (scale) => killsOf(scale) + 2,
  async strike(phase, scale) {
    const { random, world } = phase
    const path = '/fallbacks-second'
    const secondLedger = world.provider.open(path, Math.floor(random() * 2 ** 31))
    const secondId = await phase.openChannel('hold', path)
    await updateChannel(world.db, phase.channelId, { fallbackChannelId: secondId })
    const reportedAt = new Map<string, number>()
    courses.set(phase, { second: secondLedger.calls, reportedAt })
    const asRefused = (call: ProviderCall) =>
      reportedAt.has(call.requestId) ? { ...call, effect: 'refused' as const } : call
    phase.calls = () => [...phase.provider.calls.map(asRefused), ...secondLedger.calls]

    const undelivered = openDeliveries(phase, { channelId: phase.channelId, status: 'undelivered' })
    const delivered = openDeliveries(phase, { channelId: secondId, status: 'delivered' })
    const report = async (requestId: string) => {
      reportedAt.set(requestId, reportedAt.get(requestId) ?? Date.now())
      undelivered.report(requestId)
      await sleep(between(random, 0, 500))
      undelivered.report(requestId)
    }
    const reports: Promise<void>[] = []
    phase.provider.behave('refusingSome')
    phase.provider.onCall = ({ requestId, contact }) => {
      if (!isUnreached(contact)) return
      const lateMs = random() < 0.5 ? 0 : between(random, 100, 2000)
      reports.push(sleep(lateMs).then(() => report(requestId)))
    }
    secondLedger.behave('slow', 0, 200)
    secondLedger.onCall = ({ requestId }) => delivered.report(requestId)
    const faults = async () => {
      await killSome(phase, scale)
      await world.servers.crashPostgres()
      await sleep(2000)
      await world.servers.startPostgres()
      await world.servers.emptyRedis()
    }
    await load(phase, {
      count: phase.sends,
      seconds: 2 * scale.apiKills + scale.workerKills / 2,
      during: faults(),
    })
    await settle(phase)
    await Promise.all(reports)
    await undelivered.drained()
    await settle(phase)
    await delivered.drained()
    // Their time counts from no kill: a refused send takes all its retries on the first channel.
    phase.faultsOver.length = 0
    phase.notes.push(
      `${reportedAt.size} reported as undelivered, ${secondLedger.calls.length} calls by the fallback`,
    )
  },
  reach(phase, findings) {
    const { second, reportedAt } = courses.get(phase) ?? { second: [], reportedAt: new Map() }
    const { rows } = findings
    const ended = rows.filter(({ status }) => status !== 'uncertain')
    const secondOf = groupBy(second, ({ requestId }) => requestId)
    return [
      ...onBoth(phase, rows, { second, reportedAt }),
      ...violationsOf(
        ended.filter((row) => goesOn(row) && !secondOf.has(row.requestId)),
        'it was not delivered by the first channel, and did not go on',
      ),
      ...violationsOf(
        ended.filter((row) => !goesOn(row) && secondOf.has(row.requestId)),
        'the first channel delivered it, and it went on',
      ),
      ...violation(second.length === 0, 'none fell back'),
      ...uncertainOnlyInFlight(phase, findings),
    ]
  },
}

const goesOn = ({ contact }: PhaseRow) => isRefusedContact(contact) || isUnreached(contact)

/** Sends that both channels got without a report of failure in between. */
function onBoth(phase: Phase, rows: readonly PhaseRow[], { second, reportedAt }: Course): string[] {
  const firstOf = groupBy(phase.provider.calls, ({ requestId }) => requestId)
  const early = new Set(
    second
      .filter(({ requestId, arrivedAt }) => {
        const last = firstOf.get(requestId)?.at(-1)
        const isRefused = last?.effect === 'refused'
        return last !== undefined && !isRefused && !((reportedAt.get(requestId) ?? Infinity) <= arrivedAt)
      })
      .map(({ requestId }) => requestId),
  )
  return violationsOf(
    rows.filter(({ requestId }) => early.has(requestId)),
    'called by both channels without a report of failure between',
  )
}
