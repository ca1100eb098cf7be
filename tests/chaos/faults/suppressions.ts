import { setTimeout as sleep } from 'node:timers/promises'
import { holdChannel, resumeChannel } from '../../../db/accounts/channels.ts'
import { replaySend } from '../../../db/sends/replays.ts'
import { addSuppression } from '../../../db/suppression/entries.ts'
import { causeOfReason } from '../../../src/core/suppression/suppression.ts'
import { between } from '../../support/random.ts'
import { testSuppressionKey } from '../../support/service.ts'
import { eventually } from '../../support/wait.ts'
import { load } from '../clients.ts'
import { type Fault, violation, violationsOf } from '../fault.ts'
import { type Phase, type PhaseRow, settle } from '../phase.ts'
import { killSome, killsOf } from './some-kills.ts'
import { uncertainOnlyInFlight } from './workers.ts'

/** From this long after its entry, nothing is sent to a contact. */
const calledWithinMs = 1000
/** One contact in seven, and a third of all sends scheduled; every second send is on the held channel. */
const [contactsEach, scheduledEach] = [7, 3]
const longestWaitMs = 4000
/** Fewest failed sends for each suppressed contact: half are of the held channel, and more are of scheduled sends. */
const leastFailed = 0.4

const entries = new WeakMap<Phase, Map<string, number>>()
const isSuppressed = ({ status, failure }: PhaseRow) =>
  status === 'failed' && causeOfReason(failure ?? '') !== undefined

/**
 * Contacts are suppressed while their sends are accepted, are scheduled, wait on a held channel and are called, or a little
 * later. All that failed so is replayed.
 */
export const suppressions: Fault = {
  name: 'suppressions',
  share: 0.05,
  times: killsOf,
  async strike(phase, scale) {
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
      // On a busy machine, it may get no connection in time.
      await eventually('its entry', () =>
        addSuppression(world.db, suppressed, null, testSuppressionKey).catch(() => false as const),
      )
      addedAt.set(value, Date.now())
    }
    // Sends of this channel may not be called, and suppressed ones end while they wait.
    const heldId = await phase.openChannel('hold')
    await holdChannel(world.db, heldId, 'a test')
    const added: Promise<void>[] = []
    const sendAt = (index: number) => {
      const contactBefore = phase.clients.at(-1)?.contact ?? ''
      if (index % contactsEach === 1) added.push(suppress(contactBefore, between(random, 0, longestWaitMs)))
      return index % scheduledEach === 0
        ? new Date(Date.now() + between(random, 0, longestWaitMs))
        : undefined
    }
    phase.provider.behave('slow', 0, 200)
    await load(phase, {
      count: phase.sends,
      seconds: scale.apiKills + scale.workerKills / 2,
      during: killSome(phase, scale),
      sendAt,
      channelIds: [phase.channelId, heldId],
    })
    await Promise.all(added)
    const isHeld = (await phase.rows()).some(({ finishedAt }) => finishedAt === undefined)
    await resumeChannel(world.db, heldId)
    await settle(phase)
    const failed = (await phase.rows()).filter(isSuppressed)
    for (const { requestId } of failed)
      phase.violations.push(
        ...violation(!(await replaySend(world.db, requestId)), `${requestId}: it was not replayed`),
      )
    await settle(phase)
    phase.violations.push(...violation(!isHeld, 'none waited on the held channel'))
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
      ...violation(
        findings.rows.filter(isSuppressed).length < addedAt.size * leastFailed,
        `for ${addedAt.size} suppressed contacts, only ${findings.rows.filter(isSuppressed).length} sends failed`,
      ),
      ...uncertainOnlyInFlight(phase, findings),
    ]
  },
}
