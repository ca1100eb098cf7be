import { setTimeout as sleep } from 'node:timers/promises'
import { updateChannel } from '../../../db/accounts/channels.ts'
import { migrateDatabase } from '../../../db/migrate.ts'
import { groupBy } from '../../support/group-by.ts'
import { acceptedIds } from '../client-send.ts'
import { load } from '../clients.ts'
import { type Fault, uncertainAtAll, violation, violationsOf } from '../fault.ts'
import { buildOf } from '../former-build.ts'
import { type Phase, type PhaseRow, statusesOf } from '../phase.ts'
import { otherStatuses } from './api.ts'
import { callbackFaults, calledBack } from './callbacks.ts'

const processesOfEachKind = 2
/** How long both builds, or one of them, work before the next step. */
const betweenStepsMs = 3000
const fewestSeconds = 60
/** Contacts that get many sends each, among them some that differ in case alone, whose sends come a while apart. */
const shared = [
  (n: number) => `+4915112340${n + 100}`,
  (n: number) => `ann.${n}@example.com`,
  (n: number) => `Ann.${n}@example.com`,
].flatMap((contactOf) => Array.from({ length: 20 }, (_, n) => contactOf(n)))
const dueWithinMs = 30_000
const refusingPath = '/upgrade-refusing'

/** When the spellings of an address became one contact. */
const migratedAt = new WeakMap<Phase, number>()

/** The whole way there, back and there again, one process after the other, while sends are accepted, called, due and reported. */
export const upgradeFrom = (former: string): Fault => ({
  name: 'upgrade',
  share: 1,
  times: () => 3,
  async strike(phase) {
    const { fleet, servers } = phase.world
    phase.provider.behave('slowAndOftenBusy')
    const refusingId = await openRefusing(phase)
    const ended: Promise<number | null>[] = []
    const replaceAllWith = async (build: string | undefined) => {
      fleet.startFrom(build)
      for (let count = 0; count < processesOfEachKind; count++) {
        for (const role of ['api', 'worker'] as const) ended.push((await fleet.replaceOldest(role)).ended)
        await sleep(betweenStepsMs)
      }
    }
    const upgrade = async () => {
      await sleep(betweenStepsMs)
      await migrateDatabase(servers.databaseUrl)
      migratedAt.set(phase, Date.now())
      await sleep(betweenStepsMs)
      for (const build of [undefined, buildOf(former), undefined]) await replaceAllWith(build)
      const failed = (await Promise.all(ended)).filter((code) => code !== 0)
      phase.violations.push(...violation(failed.length > 0, `ended with ${failed.join(', ')} and not with 0`))
    }
    await calledBack(phase, () =>
      load(phase, {
        count: phase.sends,
        seconds: fewestSeconds,
        during: upgrade(),
        // Sends by the refusing channel have a contact of their own, too.
        channelIds: [refusingId, ...Array.from({ length: 5 }, () => phase.channelId)],
        contact: (index) => (index % 2 === 0 ? undefined : shared[(index >> 1) % shared.length]),
        // Only sends with a contact of their own: a scheduled one waits for no other, and no other for it.
        sendAt: (index) => (index % 4 === 0 ? new Date(Date.now() + (index % dueWithinMs)) : undefined),
      }),
    )
  },
  reach: (phase, findings) => [
    ...otherStatuses(statusesOf(phase), [202]),
    ...uncertainAtAll(phase, findings),
    ...callbackFaults(phase),
    ...fellBack(phase),
    ...violationsOf(
      outOfOrder(phase, findings.rows),
      'was called before one to its contact that was accepted earlier',
    ),
  ],
})

/** Opens a channel that refuses a third of its sends at every attempt; they go on by the phase's own. */
async function openRefusing(phase: Phase): Promise<string> {
  const { world, random } = phase
  const refusing = world.provider.open(refusingPath, Math.floor(random() * 2 ** 31))
  refusing.behave('refusingSome')
  phase.calls = () => [...refusing.calls, ...phase.provider.calls]
  const id = await phase.openChannel('hold', refusingPath)
  await updateChannel(world.db, id, { fallbackChannelId: phase.channelId })
  return id
}

/** Notes how many sends went on by the fallback. The ledgers show whether each was sent. */
function fellBack({ clients, channelId, provider, notes }: Phase): string[] {
  const own = new Set(provider.calls.map(({ requestId }) => requestId))
  const elsewhere = clients.filter((send) => send.channelId !== channelId).flatMap(acceptedIds)
  const count = elsewhere.filter((requestId) => own.has(requestId)).length
  notes.push(`${count} of ${elsewhere.length} sends by the refusing channel went on by its fallback`)
  return violation(count === 0, 'none fell back')
}

/** The sends to shared contacts that were first called before an earlier one: since the migration, in any spelling. */
function outOfOrder(phase: Phase, rows: readonly PhaseRow[]): PhaseRow[] {
  const firstCallAt = new Map<string, number>()
  for (const { requestId, arrivedAt } of phase.provider.calls)
    if (!firstCallAt.has(requestId)) firstCallAt.set(requestId, arrivedAt)
  const isShared = new Set(shared)
  const ordered = rows.filter(({ contact }) => isShared.has(contact))
  const sinceMigration = ordered.filter(({ acceptedAt }) => acceptedAt > (migratedAt.get(phase) ?? Infinity))
  const lanes = [
    ...groupBy(ordered, ({ contact }) => contact).values(),
    ...groupBy(sinceMigration, ({ contact }) => contact.toLowerCase()).values(),
  ]
  return lanes.flatMap((lane) => {
    const inOrder = lane.toSorted((one, other) => one.acceptedAt - other.acceptedAt)
    return inOrder.filter((row, index) => {
      const before = inOrder[index - 1]
      return (
        before !== undefined &&
        (firstCallAt.get(before.requestId) ?? 0) > (firstCallAt.get(row.requestId) ?? Infinity)
      )
    })
  })
}
