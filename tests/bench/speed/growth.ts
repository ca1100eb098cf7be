import { alternate, type Result } from '../benchmark.ts'
import type { Figure } from '../figures.ts'
import type { Sender } from '../post.ts'
import { inTurn, openAccounts, openChannels } from '../senders.ts'
import { openStage, type Stage } from '../stage.ts'
import { dispatchThroughput } from '../throughput.ts'
import { openWrk, type WrkResult } from '../wrk.ts'
import type { Case, Conditions } from './case.ts'
import { type Past, withPast } from './history.ts'
import { type Compared, ratio, ratioOf } from './ratio.ts'
import { warmUpSeconds } from './sizes.ts'

const connections = 64
const bounds = { floor: 0.9, aim: 0.97 }

/** The cost of a month of past sends, and of sends that wait for a retry, to new sends. */
export const growth: Case = {
  name: 'growth',
  async measure(conditions) {
    const { finished, waiting } = conditions.sizes
    const { accept, dispatch } = await besideEmpty(pastOf({ finished, waiting }, conditions), conditions)
    const words = inWords({ finished, waiting })
    return [
      ratio('growth', `accept, ${connections} connections, ${words}`, { ...accept, ...bounds }),
      ratio('growth', `dispatch, ${words}`, { ...dispatch, ...bounds }),
    ]
  },
}

/** Growth with smaller histories, for a chart without a criterion. */
export const growthCurve: Case = {
  name: 'growth-curve',
  async measure(conditions) {
    const { waiting } = conditions.sizes
    const results: Result[] = []
    for (const finished of conditions.sizes.lessFinished) {
      const { accept, dispatch } = await besideEmpty(pastOf({ finished, waiting }, conditions), conditions)
      const words = inWords({ finished, waiting })
      results.push(
        {
          case: 'growth-curve',
          measured: `accept, ${words}`,
          figures: [accept.of, accept.to, ratioOf(accept)],
        },
        {
          case: 'growth-curve',
          measured: `dispatch, ${words}`,
          figures: [dispatch.of, dispatch.to, ratioOf(dispatch)],
        },
      )
    }
    return results
  },
}

const pastOf =
  (past: Past, { print }: Conditions) =>
  (stage: Stage) =>
    withPast(stage, past, (progress) => print(`growth: ${progress}`))

/** Measures two stages in turn, one of them with rows from before. @param give gives the stage its rows. */
export async function besideEmpty(
  give: (stage: Stage) => Promise<Stage>,
  { runs, sizes, print }: Conditions,
): Promise<{ accept: Compared; dispatch: Compared }> {
  const stages: Stage[] = []
  const open = async (name: string, prepare: (stage: Stage) => Promise<Stage> = async (stage) => stage) => {
    const stage = await openStage()
    stages.push(stage)
    const cleared = await prepare(stage)
    const senders = await openChannels(await openAccounts(cleared, sizes.accounts), '/accept/speed')
    return measured(name, cleared, senders)
  }
  try {
    const empty = await open('empty')
    const grown = await open('grown', give)
    for (const { load } of [empty, grown]) await load(warmUpSeconds)

    const accept = (one: typeof empty) => async () => {
      const { perSecond, p50Ms, p99Ms } = await one.load(sizes.seconds)
      one.accept.values.push(perSecond)
      print(`growth: accept, ${one.name}: ${perSecond.toFixed(0)}/s, p50 ${p50Ms} ms, p99 ${p99Ms} ms`)
    }
    const dispatch = (one: typeof empty) => async () => {
      const posts = inTurn(one.senders, sizes.sendsOfEach)
      one.dispatch.values.push(await dispatchThroughput(one.stage, posts))
      print(`growth: dispatch, ${one.name}: ${one.dispatch.values.at(-1)?.toFixed(0)}/s`)
    }
    await alternate(runs, [accept(empty), accept(grown), dispatch(empty), dispatch(grown)])
    return {
      accept: { of: grown.accept, to: empty.accept },
      dispatch: { of: grown.dispatch, to: empty.dispatch },
    }
  } finally {
    for (const stage of stages) await stage.close()
  }
}

function measured(name: string, stage: Stage, senders: readonly Sender[]) {
  const wrk = openWrk(stage.folder)
  const figure = (): Figure => ({ variant: name, unit: '/s', values: [] })
  return {
    name,
    stage,
    senders,
    accept: figure(),
    dispatch: figure(),
    async load(seconds: number): Promise<WrkResult> {
      await stage.clear()
      return await wrk({ url: stage.api.url, senders, connections, seconds })
    },
  }
}

function inWords({ finished, waiting }: Past): string {
  return `${finished.toLocaleString('en')} finished and ${waiting.toLocaleString('en')} waiting ÷ empty`
}
