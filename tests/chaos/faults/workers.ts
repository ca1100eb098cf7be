import { setTimeout as sleep } from 'node:timers/promises'
import { eventually } from '../../support/wait.ts'
import { burst, load } from '../clients.ts'
import { type Fault, type Findings, violation, violationsOf } from '../fault.ts'
import type { Member } from '../fleet.ts'
import type { Phase } from '../phase.ts'
import { accepts } from '../provider.ts'
import { between, pick } from '../random.ts'
import type { World } from '../world.ts'

/** As many as a worker has slots. */
const inFlight = 50
/** Fills the slots of two workers, and some wait. */
const sendsPerKill = 110
const burstSeconds = 0.8
const recoverWithinMs = 15_000
/** Twice: the first are being delivered when the worker is frozen, the others are just being claimed. */
const sendsBeforeFreeze = 25
/** PostgreSQL ends a statement that a stopped process had sent. */
const statementEndsMs = 50

export const workerKill: Fault = {
  name: 'worker-kill',
  share: 0.22,
  times: ({ workerKills }) => workerKills,
  async strike(phase, { workerKills }) {
    const { world, random } = phase
    for (let kill = 0; kill < workerKills; kill++) {
      await world.fleet.complete()
      const victim = youngest(world)
      const answersHeld = holdAnswers(phase)
      const told = load(phase, {
        count: Math.max(sendsPerKill, phase.sends / workerKills),
        seconds: burstSeconds,
      })
      await eventually(
        'its slots are full',
        async () => (await sendsInHand(world, victim)).length >= inFlight,
      )
      await sleep(between(random, 0, 200))
      await killWorker(phase, victim)
      answersHeld.release()
      await told
    }
    await world.fleet.complete()
    phase.notes.push(`${phase.inHandOfKilled.length} sends in flight at ${workerKills} kills`)
  },
  reach: (phase, findings, { workerKills }) => [
    ...violation(
      phase.inHandOfKilled.length < workerKills * inFlight,
      `only ${phase.inHandOfKilled.length} sends in flight at ${workerKills} kills`,
    ),
    ...uncertainOnlyInHand(phase, findings),
    ...slowRecovery(findings),
  ],
}

export const workerFreeze: Fault = {
  name: 'worker-freeze',
  share: 0.08,
  times: () => 1,
  async strike(phase, { freezeSeconds }) {
    const { world, random } = phase
    phase.provider.treat = () => sleep(800, accepts)
    const freeze = async () => {
      await sleep(between(random, 1500, 2500))
      const frozen = pick(random, world.fleet.workers())
      const told = burst(phase, sendsBeforeFreeze)
      await sleep(between(random, 100, 400))
      const toldLate = burst(phase, sendsBeforeFreeze)
      await sleep(between(random, 5, 30))
      process.kill(frozen.pid, 'SIGSTOP')
      try {
        await sleep(statementEndsMs)
        phase.notes.push(`${(await sendsInHand(world, frozen)).length} sends in the frozen worker's hands`)
        await sleep(freezeSeconds * 1000)
      } finally {
        process.kill(frozen.pid, 'SIGCONT')
      }
      phase.faultsOver.push(Date.now())
      await Promise.all([told, toldLate, sleep(2000)])
    }
    await load(phase, {
      count: phase.sends - 2 * sendsBeforeFreeze,
      seconds: freezeSeconds + 4,
      during: freeze(),
    })
  },
  reach({ provider }, { rows }) {
    const accepted = new Set(
      provider.calls.flatMap((call) => (call.effect === 'accepted' ? call.requestId : [])),
    )
    const notSent = rows.filter(({ requestId, status }) => status !== 'sent' && accepted.has(requestId))
    return violationsOf(notSent, 'the provider answered 2xx')
  },
}

export function uncertainOnlyInHand({ inHandOfKilled }: Phase, { rows }: Findings): string[] {
  const inHand = new Set(inHandOfKilled)
  const others = rows.filter(({ requestId, status }) => status === 'uncertain' && !inHand.has(requestId))
  return violationsOf(others, 'was in no killed worker’s hands')
}

function slowRecovery({ slowestRecoveryMs = 0 }: Findings): string[] {
  return violation(
    slowestRecoveryMs > recoverWithinMs,
    `a worker's sends were taken up again only ${Math.round(slowestRecoveryMs)} ms after it was killed`,
  )
}

/** Kills a worker, and tells what it had in hand: stopped first, so that nothing changes between look and kill. */
export async function killWorker(phase: Phase, worker: Member): Promise<void> {
  process.kill(worker.pid, 'SIGSTOP')
  await sleep(statementEndsMs)
  phase.inHandOfKilled.push(...(await sendsInHand(phase.world, worker)))
  phase.faultsOver.push(Date.now())
  await phase.world.fleet.kill(worker)
}

/** Keeps the provider from answering, so that calls pile up. */
function holdAnswers({ provider }: Phase): { release(): void } {
  let release = () => {}
  const released = new Promise<void>((resolve) => {
    release = resolve
  })
  provider.treat = () => released.then(() => accepts)
  return { release }
}

/** The oldest lives on: only a worker that has lived for a lease's time may count others as dead. */
function youngest({ fleet }: World): Member {
  const worker = fleet.workers().at(-1)
  if (!worker) throw new Error('no worker runs')
  return worker
}

async function sendsInHand({ db }: World, { name }: Member): Promise<string[]> {
  const { rows } = await db.$client.query<{ id: string }>(
    `select request_id as id from sends where status = 'sending' and finished_at is null and worker = $1`,
    [name],
  )
  return rows.map(({ id }) => id)
}
