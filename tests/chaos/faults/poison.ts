import { setTimeout as sleep } from 'node:timers/promises'
import { eventually } from '../../support/wait.ts'
import { ask, load, requestIdsTold } from '../clients.ts'
import { type Fault, violation, violationsOf } from '../fault.ts'
import type { Phase, PhaseRow } from '../phase.ts'
import { accepts, type Treatment } from '../provider.ts'
import { killWorker, uncertainOnlyInHand } from './workers.ts'

const starts = 5
const parkedWithinMs = 120_000

const killsItsCaller: Treatment = { name: 'kills its caller', effect: 'unknown', act: () => {} }

export const poison: Fault = {
  name: 'poison',
  share: 0.03,
  times: () => starts,
  async strike(phase) {
    const send = phase.newSend(await phase.openChannel('resend'))
    const told = ask(phase, send, 'apis').then(() => requestIdsTold(send)[0])
    phase.provider.treat = async ({ requestId }) => {
      if (requestId !== (await told)) return accepts
      await killCaller(phase, requestId)
      return killsItsCaller
    }
    await told
    await load(phase, { count: phase.sends - 1, seconds: 50, during: parked(phase) })
  },
  reach(phase, findings) {
    const poisons = findings.rows.filter(isPoison)
    const others = findings.rows.filter((row) => !isPoison(row))
    return [
      ...poisons.flatMap((row) => notParked(phase, row)),
      ...violationsOf(
        others.filter(({ status }) => status !== 'sent' && status !== 'uncertain'),
        'nothing was wrong with it',
      ),
      ...uncertainOnlyInHand(phase, findings),
    ]
  },
}

const isPoison = ({ onUncertain }: PhaseRow) => onUncertain === 'resend'

async function parked(phase: Phase): Promise<void> {
  const isOver = async () => (await phase.rows()).find(isPoison)?.status === 'failed'
  // Where it is not, that is found when its row is looked at.
  await eventually('the poison is parked', isOver, parkedWithinMs).catch(() => {})
  await sleep(1000)
}

async function killCaller(phase: Phase, requestId: string): Promise<void> {
  const { worker } = (await phase.rows()).find((row) => row.requestId === requestId) ?? {}
  const caller = phase.world.fleet.workers().find(({ name }) => name === worker)
  if (caller) await killWorker(phase, caller)
}

function notParked({ provider }: Phase, { requestId, status, failure, attempt }: PhaseRow): string[] {
  const calls = provider.calls.filter((call) => call.requestId === requestId)
  const isParked = status === 'failed' && failure?.startsWith('parked')
  return [
    ...violation(!isParked, `the poison ${requestId} is ${status} (${failure}) and not parked`),
    ...violation(
      calls.length !== starts || attempt !== starts,
      `the poison ${requestId} was started ${attempt} times and called ${calls.length} times, not ${starts}`,
    ),
  ]
}
