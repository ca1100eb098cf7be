import { setTimeout as sleep } from 'node:timers/promises'
import { newContact } from '../../support/builders.ts'
import { pick, randomOf } from '../../support/random.ts'
import type { Figure } from '../figures.ts'
import type { Accepted, Sender } from '../post.ts'
import type { Program } from '../program.ts'
import type { Stage } from '../stage.ts'
import type { Case, Conditions } from './case.ts'
import { compareOrder, type OrderFindings, type OrderRow } from './order-ledger.ts'

const workers = 3
const killEveryMs = 2000
const shareFailing = 0.1
/** Longer than the lease of a killed worker, plus the 8 s for which its successor has to run before it gives up claims. */
const settleWithinMs = 60_000
const askEveryMs = 500

const none: (keyof OrderFindings)[] = ['outOfOrder', 'lost', 'doubled']
const inWords: Record<keyof OrderFindings, string> = {
  outOfOrder: 'out of order',
  lost: 'lost',
  doubled: 'doubled',
  uncertain: 'uncertain',
}

export const order: Case = {
  name: 'order',
  reach: '0 out of order, 0 lost, 0 doubled',
  async measure(stage, conditions) {
    const { runs, sizes, print } = conditions
    const sender = await (await stage.openAccount()).openChannel(`/fail-once/${shareFailing}/order`, 'hold')
    const findings: OrderFindings[] = []
    while (findings.length < runs) {
      const found = await runOnce(stage, sender, conditions, findings.length)
      findings.push(found)
      print(`order: ${JSON.stringify(found)}`)
    }
    const names = [...none, 'uncertain'] as const
    const figures = names.map(
      (name): Figure => ({ variant: inWords[name], unit: '', values: findings.map((found) => found[name]) }),
    )
    const { contacts, sends } = sizes.order
    return {
      measured: `of ${contacts.toLocaleString('en')} contacts x ${sends} sends, ${shareFailing * 100} % answered 503 once, one of ${workers} workers killed every ${killEveryMs / 1000} s`,
      figures,
      isReached: findings.every((found) => none.every((name) => found[name] === 0)),
    }
  },
}

async function runOnce(
  stage: Stage,
  sender: Sender,
  { sizes, load }: Conditions,
  run: number,
): Promise<OrderFindings> {
  await stage.clear()
  await stage.startWorkers(workers)
  const contacts = Array.from({ length: sizes.order.contacts }, newContact)
  const killing = killWorkers(stage, run)
  const [accepted = []] = await stage.client
    .postSteadily([
      {
        perSecond: load,
        count: contacts.length * sizes.order.sends,
        postOf: (index) => ({ sender, contact: String(contacts[index % contacts.length]) }),
      },
    ])
    .finally(killing.stop)
  await settle(stage)
  const [rows, calls] = [await readRows(stage), await stage.provider.calls()]
  return compareOrder(idsOf(accepted), rows, calls)
}

/** Kills workers only while sends are being accepted: workers that never run for 8 s would never give up others' claims. */
function killWorkers(stage: Stage, run: number): { stop(): Promise<void> } {
  const random = randomOf(run, 'order')
  const replacements: Promise<void>[] = []
  const replace = async (worker: Program) => {
    await stage.killWorker(worker)
    await stage.startWorkers(1)
  }
  const strikes = setInterval(() => {
    const replaced = replace(pick(random, stage.workers()))
    // The error is thrown where they are awaited.
    replaced.catch(() => {})
    replacements.push(replaced)
  }, killEveryMs)
  return {
    async stop() {
      clearInterval(strikes)
      await Promise.all(replacements)
    },
  }
}

/** Sends that have not ended by then count as lost. */
async function settle({ db }: Stage): Promise<void> {
  for (const deadline = Date.now() + settleWithinMs; Date.now() < deadline; await sleep(askEveryMs)) {
    const { rowCount } = await db.$client.query('select from sends where finished_at is null limit 1')
    if (rowCount === 0) return
  }
}

async function readRows({ db }: Stage): Promise<OrderRow[]> {
  const { rows } = await db.$client.query<OrderRow>(
    `select request_id as "requestId", contact_value as contact, seq::float8 as seq, status from sends`,
  )
  return rows
}

const idsOf = (accepted: readonly Accepted[]) => accepted.map(({ requestId }) => requestId)
