import { setTimeout as sleep } from 'node:timers/promises'
import { migrateDatabase } from '../../../db/migrate.ts'
import { groupBy } from '../../support/group-by.ts'
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
/** Contacts that get many sends each, among them some that differ in case alone. */
const shared = Array.from({ length: 20 }, (_, n) => [
  `+4915112340${n + 100}`,
  `ann.${n}@example.com`,
  `Ann.${n}@example.com`,
]).flat()
const dueWithinMs = 30_000

/** The whole way there, back and there again, one process after the other, while sends are accepted, called, due and reported. */
export const upgradeFrom = (former: string): Fault => ({
  name: 'upgrade',
  share: 1,
  times: () => 3,
  async strike(phase) {
    const { fleet, servers } = phase.world
    phase.provider.behave('slowAndOftenBusy')
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
        contact: (index) => (index % 2 === 0 ? undefined : shared[(index >> 1) % shared.length]),
        // Those with a contact of their own: a scheduled one waits for no other, and no other for it.
        sendAt: (index) => (index % 4 === 0 ? new Date(Date.now() + (index % dueWithinMs)) : undefined),
      }),
    )
  },
  reach: (phase, findings) => [
    ...otherStatuses(statusesOf(phase), [202]),
    ...uncertainAtAll(phase, findings),
    ...callbackFaults(phase),
    ...violationsOf(
      outOfOrder(phase, findings.rows),
      'was called before one to its contact that was accepted earlier',
    ),
  ],
})

/** The sends to shared contacts that were first called before an earlier one. */
function outOfOrder({ provider }: Phase, rows: readonly PhaseRow[]): PhaseRow[] {
  const firstCallAt = new Map<string, number>()
  for (const { requestId, arrivedAt } of provider.calls)
    if (!firstCallAt.has(requestId)) firstCallAt.set(requestId, arrivedAt)
  const isShared = new Set(shared)
  const lanes = groupBy(
    rows.filter(({ contact }) => isShared.has(contact)),
    ({ contact }) => contact,
  )
  return [...lanes.values()].flatMap((lane) => {
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
