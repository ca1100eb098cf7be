import { type DueSend, findDueSends } from '../db/due-sends.ts'
import { findLimitedChannels } from '../db/turns.ts'
import { restoreWakeUps } from '../src/platform/queue.ts'
import type { Runtime } from '../src/platform/runtime.ts'
import { type Rounds, startRounds } from './rounds.ts'
import type { Turns } from './turns.ts'

const pageSize = 1000
const pagesPerPass = 10
/** Those who wait for turns of other channels are not to stand behind all of these. */
const channelsAtOnce = 20
const pauseMs = 3000
const pauseInBacklogMs = 1500
/** Between passes over a backlog that is longer than one pass looks at, where wake-ups were missing. */
const shortPauseMs = 500
/** Younger ones are most likely on their way into the queue. */
const overdueByMs = 2000

/**
 * Gives back their wake-ups to sends that are queued and due but have none, or a later one: because Redis was away when
 * they were accepted, or lost what it held, or because they were replayed. Any number of workers may do it at once, since adding a wake-up again changes nothing.
 */
export function startReconciler(runtime: Runtime, turns: Turns): Rounds {
  let from: DueSend | undefined
  return startRounds({ log: runtime.log, event: 'reconcile_failed', pauseMs }, async () => {
    const limited = await findLimitedChannels(runtime.db)
    for (let first = 0; first < limited.length; first += channelsAtOnce) {
      const some = limited.slice(first, first + channelsAtOnce)
      await Promise.all(some.map((channelId) => turns.give(channelId)))
    }
    const pass = await reconcile(runtime, from)
    from = pass.stoppedAt
    // Where nothing was missing, the rest isn't likely to be either.
    return from && (pass.reconciled > 0 ? shortPauseMs : pauseInBacklogMs)
  })
}

/**
 * One pass, over ten thousand sends at the most.
 *
 * @param from where the last pass stopped.
 * @returns where the next pass has to go on; undefined where this one came to the end. And how many were woken.
 */
async function reconcile(
  runtime: Runtime,
  from: DueSend | undefined,
): Promise<{ stoppedAt: DueSend | undefined; reconciled: number }> {
  let last = from
  let reconciled = 0
  for (let page = 0; page < pagesPerPass; page++) {
    const due = await findDueSends(runtime.db, { overdueByMs, after: last, limit: pageSize })
    const sends = await restoreWakeUps(
      runtime,
      due.filter(({ isHead }) => isHead),
    )
    if (sends > 0) runtime.log.info({ event: 'reconciled', sends })
    reconciled += sends
    if (due.length < pageSize) return { stoppedAt: undefined, reconciled }
    last = due.at(-1)
  }
  return { stoppedAt: last, reconciled }
}
