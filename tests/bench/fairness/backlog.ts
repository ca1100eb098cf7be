import { newContact } from '../../support/builders.ts'
import { median } from '../figures.ts'
import type { Sender } from '../post.ts'
import { inTurn } from '../senders.ts'
import type { Stage } from '../stage.ts'
import type { Case } from './case.ts'

const maxCalls = 200
/** The calls of A before B sends, so that the worker is warm. */
const warmUpCalls = 2000
/** How long to wait for B's call, far beyond the criterion. A's calls until then are counted. */
const giveUpAfterMs = 10_000

/** A's backlog is created once, and refilled before each run. */
export const backlog: Case = {
  name: 'backlog',
  reach: `at most ${maxCalls}`,
  async measure(stage, { runs, sizes, print }) {
    const a = await (await stage.openAccount()).openChannel('/accept/a')
    const b = await (await stage.openAccount()).openChannel('/accept/b')
    const values: number[] = []
    while (values.length < runs) {
      await fillUp(stage, a, sizes.backlog + warmUpCalls)
      values.push(await callsBefore(stage, b))
      print(`backlog: B came after ${values.at(-1)} calls of A`)
    }
    return {
      measured: `calls of A, with ${sizes.backlog.toLocaleString('en')} queued, between B's 202 and B's call`,
      figures: [{ variant: 'calls', unit: '', values }],
      isReached: median(values) <= maxCalls,
    }
  },
}

async function fillUp({ db, client }: Stage, sender: Sender, backlogSize: number): Promise<void> {
  const { rows } = await db.$client.query<{ queued: number }>(
    'select count(*)::int as queued from sends where channel_id = $1 and finished_at is null',
    [sender.channelId],
  )
  const missing = backlogSize - (rows[0]?.queued ?? 0)
  await client.postAll(inTurn([sender], missing))
}

async function callsBefore(stage: Stage, b: Sender): Promise<number> {
  const { client, provider } = stage
  await provider.forget()
  await stage.startWorkers(1)
  if (!(await provider.gets(warmUpCalls, { path: '/accept/a' }, giveUpAfterMs))) {
    throw new Error('the worker delivers nothing')
  }
  const { acceptedAt } = await client.post({ sender: b, contact: newContact() })
  await provider.gets(1, { path: '/accept/b' }, giveUpAfterMs)
  await Promise.all(stage.workers().map(stage.killWorker))
  const [ofB] = await provider.calls({ path: '/accept/b' })
  const ofA = await provider.calls({ path: '/accept/a' })
  const { arrivedAt = Infinity } = ofB ?? {}
  return ofA.filter((call) => call.arrivedAt > acceptedAt && call.arrivedAt < arrivedAt).length
}
