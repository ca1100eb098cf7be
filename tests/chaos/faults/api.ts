import { setTimeout as sleep } from 'node:timers/promises'
import { between, pick } from '../../support/random.ts'
import { acceptedIds, type ClientSend } from '../client-send.ts'
import { ask, burst, load } from '../clients.ts'
import { type Fault, lateness, uncertainAtAll, violation } from '../fault.ts'
import { type Phase, statusesOf } from '../phase.ts'

/** Enough that some are recorded while others wait for that, or for their answer. */
const fewestInBurst = 60
const recordedWithinMs = 2000

export const apiKill: Fault = {
  name: 'api-kill',
  share: 0.14,
  times: ({ apiKills }) => apiKills,
  async strike(phase, { apiKills }) {
    const { random, sends } = phase
    const { fleet } = phase.world
    const kills = async () => {
      for (let kill = 0; kill < apiKills; kill++) {
        await sleep(between(random, 500, 1000))
        const victim = pick(random, fleet.apis())
        const channelId = await phase.openChannel('hold')
        const answered = burst(phase, Math.max(fewestInBurst, sends / apiKills / 2), victim, channelId)
        await someRecorded(phase, channelId)
        await fleet.kill(victim)
        phase.faultsOver.push(Date.now())
        await Promise.all([answered, fleet.complete()])
      }
    }
    await load(phase, { count: sends / 2, seconds: 4 * apiKills, during: kills() })
    const again = phase.clients.filter(({ answers }) => answers.length > 1)
    phase.notes.push(
      `${again.length} clients asked again, ${brokenOffAndFound(phase).length} of them for a send that was recorded`,
    )
  },
  reach: (phase, findings) => [
    ...uncertainAtAll(phase, findings),
    ...violation(
      brokenOffAndFound(phase).length === 0,
      'no API was killed between recording a send and answering',
    ),
  ],
}

/** The clients whose connection broke, and whose repeat showed that their send was recorded. */
function brokenOffAndFound({ clients }: Phase): ClientSend[] {
  return clients.filter(({ answers }) =>
    answers.some(({ isReplay }, index) => isReplay && answers[index - 1]?.status === undefined),
  )
}

/** Waits until several of a channel's sends are recorded (the first is recorded alone), so that answers are on their way. */
async function someRecorded({ world }: Phase, channelId: string): Promise<void> {
  for (const deadline = Date.now() + recordedWithinMs; Date.now() < deadline; ) {
    const { rowCount } = await world.db.$client.query('select from sends where channel_id = $1 limit 2', [
      channelId,
    ])
    if (rowCount === 2) return
  }
}

export const rollingRestarts: Fault = {
  name: 'rolling-restarts',
  share: 0.06,
  times: ({ restarts }) => restarts,
  async strike(phase, { restarts }) {
    const { fleet } = phase.world
    phase.provider.behave('slow', 0, 500)
    const ended: Promise<number | null>[] = []
    const restart = async () => {
      await sleep(500)
      for (let count = 0; count < restarts; count++) {
        const replaced = await Promise.all([fleet.replaceOldest('api'), fleet.replaceOldest('worker')])
        ended.push(...replaced.map((old) => old.ended))
      }
      const failed = (await Promise.all(ended)).filter((code) => code !== 0)
      if (failed.length > 0) phase.violations.push(`ended with ${failed.join(', ')} and not with 0`)
    }
    await load(phase, { count: phase.sends, seconds: 3 * restarts, during: restart(), triesAgain: false })
  },
  reach: (phase, findings) => [
    ...otherStatuses(statusesOf(phase), [202]),
    ...uncertainAtAll(phase, findings),
  ],
}

export const sameKey: Fault = {
  name: 'same-key',
  share: 0.02,
  times: ({ keys }) => keys,
  async strike(phase, { keys, requestsPerKey }) {
    for (let key = 0; key < keys; key++) {
      const send = phase.newSend()
      await Promise.all(Array.from({ length: requestsPerKey }, () => ask(phase, send, 'apis')))
    }
    phase.notes.push(`${requestsPerKey} requests at once with each of ${keys} keys`)
  },
  reach: (phase, findings, { keys }) => [
    ...uncertainAtAll(phase, findings),
    ...otherStatuses(statusesOf(phase), [202]),
    ...phase.clients
      .filter((send) => acceptedIds(send).length !== 1)
      .map((send) => `key ${send.key} got ${acceptedIds(send).length} requestIds`),
    ...violation(findings.rows.length !== keys, `${findings.rows.length} sends recorded for ${keys} keys`),
    ...violation(
      phase.provider.calls.length !== keys,
      `${phase.provider.calls.length} calls for ${keys} keys`,
    ),
  ],
}

/** A 503 and a missing answer depend on time limits. */
export function otherStatuses(statuses: ReadonlyMap<number, number>, allowed: readonly number[]): string[] {
  return [...statuses].flatMap(([status, count]) => {
    const what = `${count} requests got ${status === 0 ? 'no answer' : `a ${status}`}`
    const isOther = !allowed.includes(status)
    return status === 0 || status === 503 ? lateness(isOther, what) : violation(isOther, what)
  })
}
