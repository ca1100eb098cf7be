import { setTimeout as sleep } from 'node:timers/promises'
import { ownReasons } from '../../../src/core/sends/own-reasons.ts'
import { eventually } from '../../support/wait.ts'
import { acceptedIds } from '../client-send.ts'
import { ask, burst, load } from '../clients.ts'
import { type Fault, violation, violationsOf } from '../fault.ts'
import type { Phase, PhaseRow } from '../phase.ts'
import { killWorker } from './workers.ts'

const starts = 5
/** Sent at each start, so that some are in flight at the worker that the poison kills. */
const othersPerStart = 8
/** For the first call of each other send. Further calls are answered at once, so that no other send loses all its workers. */
const slowMs = 800
const givenUpWithinMs = 120_000

export const poison: Fault = {
  name: 'poison',
  share: 0.03,
  times: () => starts,
  async strike(phase) {
    const channelId = await phase.openChannel('resend')
    const send = phase.newSend({ channelId })
    phase.provider.behave('hangingFor', send.contact, slowMs)
    const poisonId = ask(phase, send, 'apis').then(() => acceptedIds(send)[0])
    const othersAnswered: Promise<void>[] = []
    phase.provider.onCall = async ({ requestId, contact }) => {
      if (contact !== send.contact) return
      othersAnswered.push(burst(phase, othersPerStart, 'balancer', channelId))
      await sleep(slowMs / 2)
      await killCaller(phase, requestId)
    }
    await poisonId
    const options = { count: phase.sends - 1, seconds: 50, during: gaveUp(phase), channelIds: [channelId] }
    await load(phase, options)
    await Promise.all(othersAnswered)
    phase.notes.push(`${othersInFlight(phase, await poisonId)} other sends in flight at the kills`)
    if (othersInFlight(phase, await poisonId) === 0)
      phase.violations.push('only the poison was in flight at the kills')
  },
  mayFail: isPoison,
  reach(phase, { rows }) {
    const poisons = rows.filter((row) => isPoison(phase, row))
    const others = rows.filter((row) => !isPoison(phase, row))
    return [
      ...violation(poisons.length !== 1, `${poisons.length} poisons recorded`),
      ...poisons.flatMap((row) => notGivenUp(phase, row)),
      ...violationsOf(
        others.filter(({ status }) => status !== 'sent'),
        'nothing was wrong with it',
      ),
    ]
  },
}

/** The first send. */
function isPoison({ clients }: Phase, { contact }: PhaseRow): boolean {
  return contact === clients[0]?.contact
}

function othersInFlight({ inFlightAtKills }: Phase, poisonId: string | undefined): number {
  return inFlightAtKills.filter(({ requestId }) => requestId !== poisonId).length
}

async function gaveUp(phase: Phase): Promise<void> {
  const isOver = async () => (await phase.rows()).find((row) => isPoison(phase, row))?.status === 'failed'
  // If it isn't, the check of its row finds that.
  await eventually('the poison is given up', isOver, givenUpWithinMs).catch(() => {})
  await sleep(1000)
}

async function killCaller(phase: Phase, requestId: string): Promise<void> {
  const { worker } = (await phase.rows()).find((row) => row.requestId === requestId) ?? {}
  const caller = phase.world.fleet.workers().find(({ name }) => name === worker)
  if (caller) await killWorker(phase, caller)
}

function notGivenUp({ provider }: Phase, { requestId, status, failure, attempt }: PhaseRow): string[] {
  const calls = provider.calls.filter((call) => call.requestId === requestId)
  const isGivenUp = status === 'failed' && failure?.startsWith(ownReasons.givenUp)
  return [
    ...violation(!isGivenUp, `the poison ${requestId} is ${status} (${failure}) and not given up`),
    ...violation(
      calls.length !== starts || attempt !== starts,
      `the poison ${requestId} was started ${attempt} times and called ${calls.length} times, not ${starts}`,
    ),
  ]
}
