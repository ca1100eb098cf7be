import { setTimeout as sleep } from 'node:timers/promises'
import { replaySend } from '../../../db/sends/replays.ts'
import { addSuppression } from '../../../db/suppression/entries.ts'
import { causeOfReason } from '../../../src/core/suppression.ts'
import { between, pick } from '../../support/random.ts'
import { testSuppressionKey } from '../../support/service.ts'
import { load } from '../clients.ts'
import { type Fault, violation, violationsOf } from '../fault.ts'
import { type Phase, type PhaseRow, settle } from '../phase.ts'
import { endSlowStart, killWorker, uncertainOnlyInFlight, youngest } from './workers.ts'

/** From this long after its entry, nothing is sent to a contact. */
const calledWithinMs = 1000
/** One contact in ten, and a third of all sends scheduled. */
const [contactsEach, scheduledEach] = [10, 3]
const longestWaitMs = 4000

const entries = new WeakMap<Phase, Map<string, number>>()
const isSuppressed = ({ status, failure }: PhaseRow) =>
  status === 'failed' && causeOfReason(failure ?? '') !== undefined

/** Contacts are suppressed before, while and after their sends are accepted, wait and are called. All that failed is replayed. */
export const suppressions: Fault = {
  name: 'suppressions',
  share: 0.05,
  times: ({ workerKills, apiKills }) => Math.ceil(workerKills / 4) + apiKills,
  async strike(phase, { workerKills, apiKills }) {
    const { random, world } = phase
    const addedAt = new Map<string, number>()
    entries.set(phase, addedAt)
    const { rows } = await world.db.$client.query('select account_id from channels where id = $1', [
      phase.channelId,
    ])
    const suppress = async (value: string, afterMs: number) => {
      await sleep(afterMs)
      const suppressed = {
        accountId: rows[0].account_id,
        contact: { type: 'phone', value },
        channelId: null,
      } as const
      await addSuppression(world.db, suppressed, null, testSuppressionKey)
      addedAt.set(value, Date.now())
    }
    const added: Promise<void>[] = []
    const sendAt = (index: number) => {
      const contactBefore = phase.clients.at(-1)?.contact ?? ''
      if (index % contactsEach === 1) added.push(suppress(contactBefore, between(random, 0, longestWaitMs)))
      return index % scheduledEach === 0
        ? new Date(Date.now() + between(random, 0, longestWaitMs))
        : undefined
    }
    phase.provider.behave('slow', 0, 200)
    const faults = async () => {
      for (let kill = 0; kill < Math.ceil(workerKills / 4); kill++) {
        await sleep(between(random, 300, 1000))
        await endSlowStart(world)
        await killWorker(phase, youngest(world))
        await world.fleet.complete()
      }
      for (let kill = 0; kill < apiKills; kill++) {
        await sleep(between(random, 300, 800))
        await world.fleet.kill(pick(random, world.fleet.apis()))
        await world.fleet.complete()
      }
    }
    await load(phase, { count: phase.sends, seconds: apiKills + workerKills / 2, during: faults(), sendAt })
    await Promise.all(added)
    await settle(phase)
    const failed = (await phase.rows()).filter(isSuppressed)
    for (const { requestId } of failed) await replaySend(world.db, requestId)
    await settle(phase)
    phase.faultsOver.length = 0
    phase.notes.push(`${addedAt.size} contacts suppressed, ${failed.length} sends to them failed, twice`)
  },
  mayFail: (phase, row) => isSuppressed(row) && entries.get(phase)?.has(row.contact) === true,
  reach(phase, findings) {
    const addedAt = entries.get(phase) ?? new Map<string, number>()
    const late = new Set(
      phase.provider.calls
        .filter(({ contact, arrivedAt }) => arrivedAt > (addedAt.get(contact) ?? Infinity) + calledWithinMs)
        .map(({ requestId }) => requestId),
    )
    return [
      ...violationsOf(
        findings.rows.filter(({ requestId }) => late.has(requestId)),
        `called later than ${calledWithinMs} ms after its contact was suppressed`,
      ),
      ...violation(!findings.rows.some(isSuppressed), 'none was suppressed'),
      ...uncertainOnlyInFlight(phase, findings),
    ]
  },
}
