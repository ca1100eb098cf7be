import { setTimeout as sleep } from 'node:timers/promises'
import { groupBy } from '../../support/group-by.ts'
import { between } from '../../support/random.ts'
import { eventually } from '../../support/wait.ts'
import type { ProviderCall } from '../behaviours.ts'
import { burst, load } from '../clients.ts'
import { type Fault, type Findings, lateness, uncertainAtAll, violation, violationsOf } from '../fault.ts'
import type { Member } from '../fleet.ts'
import { largest, nextHits, type Phase, type PhaseRow } from '../phase.ts'
import type { World } from '../world.ts'

/** The slots of a worker that one account's flood may use. */
const inFlight = 50
/** Enough to fill the slots of two workers while some wait. */
const sendsPerKill = 150
const burstSeconds = 0.8
const fullWithinMs = 20_000
const recoverWithinMs = 15_000
/** A second, plus at most a fifth. */
const longestRetryDelayMs = 1200
/** Sent twice: the first are being delivered when the worker freezes, the others are just being claimed. */
const sendsBeforeFreeze = 25
/** Enough that some are still being delivered a moment later. */
const inFlightAtFreeze = 5
/** A thawed worker stands still once more, as on a loaded machine: it has begun to go on, and answers come meanwhile. */
const stutter = { afterMs: 35, forMs: 900 }
/** PostgreSQL ends a statement that a stopped process had sent. */
const statementEndsMs = 50

export const workerKill: Fault = {
  name: 'worker-kill',
  share: 0.09,
  times: ({ workerKills }) => workerKills,
  async strike(phase, { workerKills }) {
    const { world, random } = phase
    const channelIds = [phase.channelId, await phase.openChannel('resend')]
    for (let kill = 0; kill < workerKills; kill++) {
      await world.fleet.complete()
      const victim = youngest(world)
      await endSlowStart(world)
      phase.provider.behave('holding')
      const killed = (async () => {
        const areFull = async () => (await sendsInFlight(world, victim)).length >= inFlight
        await eventually('its slots are full', areFull, fullWithinMs)
        await sleep(between(random, 0, 200))
        await killWorker(phase, victim)
      })().finally(() => phase.provider.behave('accepting'))
      await load(phase, {
        count: Math.max(sendsPerKill, phase.sends / workerKills),
        seconds: burstSeconds,
        // The other worker may take more than its half.
        during: killed,
        channelIds,
      })
    }
    await world.fleet.complete()
    phase.notes.push(`${phase.inFlightAtKills.length} sends in flight at ${workerKills} kills`)
  },
  mayFail: hasLostEachAttempt,
  reach: (phase, findings, { workerKills }) => [
    ...violation(
      phase.inFlightAtKills.length < workerKills * inFlight,
      `only ${phase.inFlightAtKills.length} sends in flight at ${workerKills} kills`,
    ),
    ...uncertainOnlyInFlight(phase, findings),
    ...slowRecovery(findings),
    ...slowResends(phase, findings),
  ],
}

export const workerFreeze: Fault = {
  name: 'worker-freeze',
  share: 0.08,
  times: () => 1,
  async strike(phase, { freezeSeconds }) {
    const { world, random } = phase
    phase.provider.behave('slow', 800, 800)
    const freeze = async () => {
      await sleep(between(random, 1500, 2500))
      const answered = burst(phase, sendsBeforeFreeze)
      const frozen = await eventually('a worker has many sends in flight', () => busyWorker(world))
      const answeredLate = burst(phase, sendsBeforeFreeze)
      await sleep(between(random, 5, 30))
      process.kill(frozen.pid, 'SIGSTOP')
      try {
        await sleep(statementEndsMs)
        const inFlight = await sendsInFlight(world, frozen)
        phase.notes.push(`${inFlight.length} sends in flight at the frozen worker`)
        if (inFlight.length === 0) phase.violations.push('the frozen worker had no send in flight')
        await sleep(freezeSeconds * 1000)
        process.kill(frozen.pid, 'SIGCONT')
        await sleep(stutter.afterMs)
        process.kill(frozen.pid, 'SIGSTOP')
        await sleep(stutter.forMs)
      } finally {
        process.kill(frozen.pid, 'SIGCONT')
      }
      phase.faultsOver.push(Date.now())
      await Promise.all([answered, answeredLate, sleep(2000)])
    }
    await load(phase, {
      count: phase.sends - 2 * sendsBeforeFreeze,
      seconds: freezeSeconds + 4,
      during: freeze(),
    })
  },
  // A worker frozen between claim and call finds its lease expired, and records late that it made no call.
  mayFail: (_phase, { isLate, failure }) =>
    isLate && failure?.endsWith('the provider was not called') === true,
  reach({ provider, faultsOver, notes }, { rows }) {
    const { crossed, notSent } = acceptedAndNotSent(provider.calls, rows, largest(faultsOver))
    notes.push(`${crossed.length} calls given up when their answers came`)
    const late = rows.filter(({ status, isLate }) => status === 'sent' && isLate)
    return [
      ...violationsOf(notSent, 'the provider answered 2xx'),
      ...violation(late.length === 0, 'no send was given up and then sent by a late outcome'),
    ]
  },
}

/**
 * The sends that the provider has accepted, and that aren't sent. `crossed`: the thawed worker gave the call up, since its time was
 * over, in the moment in which the provider wrote the answer.
 *
 * @param wentOnAt when the frozen worker went on.
 */
export function acceptedAndNotSent<Row extends Pick<PhaseRow, 'requestId' | 'status' | 'isLate'>>(
  calls: readonly Pick<ProviderCall, 'requestId' | 'effect' | 'answeredAt'>[],
  rows: readonly Row[],
  wentOnAt: number,
): { crossed: Row[]; notSent: Row[] } {
  const answersOf = groupBy(
    calls.filter(({ effect }) => effect === 'accepted'),
    ({ requestId }) => requestId,
  )
  const crossed: Row[] = []
  const notSent: Row[] = []
  for (const row of rows) {
    const answers = answersOf.get(row.requestId)
    if (row.status === 'sent' || !answers) continue
    const isCrossed =
      row.status === 'uncertain' &&
      row.isLate &&
      answers.every(({ answeredAt = 0 }) => answeredAt >= wentOnAt)
    if (isCrossed) crossed.push(row)
    else notSent.push(row)
  }
  return { crossed, notSent }
}

/** Only a send that was in flight at a killed worker may be uncertain. */
export function uncertainOnlyInFlight(phase: Phase, { rows }: Findings): string[] {
  const inFlight = new Set(phase.inFlightAtKills.map(({ requestId }) => requestId))
  const uncertain = rows.filter(({ status }) => status === 'uncertain')
  return [
    ...uncertainAtAll(phase, { rows: uncertain.filter(({ requestId }) => !inFlight.has(requestId)) }),
    ...violationsOf(
      uncertain.filter(({ onUncertain }) => onUncertain === 'resend'),
      'was to be sent again',
    ),
  ]
}

/** Whether a worker was killed at each attempt of the send, which has no attempts left then. */
export function hasLostEachAttempt(
  { inFlightAtKills, world }: Pick<Phase, 'inFlightAtKills'> & { world: Pick<World, 'attempts'> },
  { requestId, onUncertain }: Pick<PhaseRow, 'requestId' | 'onUncertain'>,
): boolean {
  const lost = inFlightAtKills.filter((one) => one.requestId === requestId).length
  return onUncertain === 'resend' && lost === world.attempts
}

/** The sends in flight at a killed worker have to be called again after the delay of a retry, while they have attempts left. */
function slowResends(phase: Phase, { rows }: Findings): string[] {
  const { provider, inFlightAtKills } = phase
  const nextHit = nextHits(phase)
  const resends = new Set(
    rows.flatMap((row) =>
      row.onUncertain === 'resend' && !hasLostEachAttempt(phase, row) ? row.requestId : [],
    ),
  )
  const callsOf = groupBy(provider.calls, ({ requestId }) => requestId)
  const taken = inFlightAtKills
    .filter(({ requestId }) => resends.has(requestId))
    .map(({ requestId, killedAt }) => {
      const next = callsOf.get(requestId)?.find(({ arrivedAt }) => arrivedAt > killedAt)
      const recoveredAt = Math.min(next?.arrivedAt ?? Infinity, nextHit(requestId, killedAt))
      return { requestId, tookMs: recoveredAt - killedAt - longestRetryDelayMs }
    })
  return [
    ...violation(taken.length === 0, 'no killed worker had a send in flight that is to be sent again'),
    ...taken.flatMap(({ requestId, tookMs }) =>
      lateness(
        tookMs > recoverWithinMs,
        `${requestId}: called again only after ${tookMs} ms and the retry delay`,
      ),
    ),
  ]
}

function slowRecovery({ slowestRecoveryMs = 0 }: Findings): string[] {
  return lateness(
    slowestRecoveryMs > recoverWithinMs,
    `a worker's sends were taken up again only ${Math.round(slowestRecoveryMs)} ms after it was killed`,
  )
}

/**
 * Kills a worker, and notes its sends in flight once PostgreSQL has run all that the worker had sent: on a busy machine a
 * claim is committed long after its worker is dead. The other workers take those sends only when its lease ends.
 */
export async function killWorker(phase: Phase, worker: Member): Promise<void> {
  const { fleet, db } = phase.world
  await fleet.kill(worker)
  const killedAt = Date.now()
  await eventually('PostgreSQL has run all statements of the killed worker', async () => {
    const open = 'select from pg_stat_activity where application_name = $1'
    return (await db.$client.query(open, [worker.applicationName])).rowCount === 0
  })
  const atKill = (requestId: string) => ({ requestId, killedAt })
  phase.inFlightAtKills.push(...(await sendsInFlight(phase.world, worker)).map(atKill))
  phase.waitingAtKills.push(...(await sendsWaiting(phase.world)).map(atKill))
  phase.faultsOver.push(killedAt)
}

/** Ends the slow start of all channels, which would allow only few calls of an account's flood. */
export const endSlowStart = ({ db }: World) => db.$client.query('update channels set answered_at = now()')

/** The youngest worker. The oldest has to survive, because only a worker that has run for a lease's time gives up others' claims. */
export function youngest({ fleet }: World): Member {
  const worker = fleet.workers().at(-1)
  if (!worker) throw new Error('no worker runs')
  return worker
}

async function busyWorker(world: World): Promise<Member | undefined> {
  for (const worker of world.fleet.workers()) {
    if ((await sendsInFlight(world, worker)).length >= inFlightAtFreeze) return worker
  }
  return undefined
}

async function sendsWaiting({ db }: World): Promise<string[]> {
  const { rows } = await db.$client.query<{ id: string }>(
    `select request_id as id from sends where status = 'queued'`,
  )
  return rows.map(({ id }) => id)
}

async function sendsInFlight({ db }: World, { name }: Member): Promise<string[]> {
  const { rows } = await db.$client.query<{ id: string }>(
    `select request_id as id from sends where status = 'sending' and finished_at is null and worker = $1`,
    [name],
  )
  return rows.map(({ id }) => id)
}
