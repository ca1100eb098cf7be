import { alternate, type Benchmark } from '../benchmark.ts'
import { nowMs } from '../clock.ts'
import { type CpuByProcess, cpuByProcess, sumOf } from '../cpu-by-process.ts'
import type { Figure } from '../figures.ts'
import { openClient, type Sender } from '../post.ts'
import { inTurn, openAccounts, openChannels } from '../senders.ts'
import { ratio } from '../speed/ratio.ts'
import { type ApiProgram, openStage, type Stage, type WorkerProgram } from '../stage.ts'

const full = { warmUpSends: 3000, sends: 10_000 }
const quick = { warmUpSends: 500, sends: 2000 }
/** The provider takes 20 to 40 ms. */
const path = '/between/20/40/through'
const withinMs = 180_000

type Part = 'API' | 'worker' | 'PostgreSQL' | 'Redis'

/** A service that is measured, and its figures: one a run. */
interface Variant {
  api: ApiProgram
  worker: WorkerProgram
  throughput: Figure
  cpu: Record<Part | 'together', Figure>
}

/**
 * The whole way of a send, with all that it needs on one machine: accepted over 64 connections, and called while others are
 * accepted, until the last call has arrived. This service, the usual one, and the parts alone.
 */
export const through: Benchmark = {
  names: ['through'],
  async run({ runs, isQuick, print }) {
    const sizes = isQuick ? quick : full
    const stage = await openStage()
    try {
      const [sender] = await openChannels(await openAccounts(stage, 1), path)
      const own = variant('this', 'api', 'worker')
      const usual = variant('plain', 'usualApi', 'usualWorker')
      const bare = variant('bare', 'wholeJobApi', 'bareWorker')
      const measured = [own, usual, bare]
      const measure = (one: Variant) => async () => {
        await measureOnce(stage, sender as Sender, one, sizes)
        const { throughput, cpu } = one
        print(
          `through: ${throughput.variant}: ${throughput.values.at(-1)?.toFixed(0)}/s, ${cpu.together.values.at(-1)?.toFixed(0)} µs each`,
        )
      }
      await alternate(runs, measured.map(measure))
      const compared = (what: string, to: Variant, bounds: { floor: number; aim: number }) =>
        ratio('through', what, { of: own.throughput, to: to.throughput, ...bounds })
      return {
        conditions: 'one account, 64 connections, one API, one worker, a provider that takes 20 to 40 ms',
        results: [
          compared('accepted and called: this ÷ plain', usual, { floor: 2.3, aim: 3 }),
          compared('accepted and called: this ÷ bare', bare, { floor: 0.55, aim: 0.65 }),
          ratio('through', 'CPU of PostgreSQL for a send: this ÷ plain', {
            of: own.cpu.PostgreSQL,
            to: usual.cpu.PostgreSQL,
            floor: 0.4,
            aim: 0.3,
          }),
          ...measured.map(({ throughput, cpu }) => ({
            case: 'through',
            measured: `CPU for a send: ${throughput.variant}`,
            figures: Object.values(cpu),
          })),
        ],
      }
    } finally {
      await stage.close()
    }
  },
}

function variant(name: string, api: ApiProgram, worker: WorkerProgram): Variant {
  const cpuOf = (part: string): Figure => ({ variant: part, unit: ' µs', values: [] })
  return {
    api,
    worker,
    throughput: { variant: name, unit: '/s', values: [] },
    cpu: {
      API: cpuOf('API'),
      worker: cpuOf('worker'),
      PostgreSQL: cpuOf('PostgreSQL'),
      Redis: cpuOf('Redis'),
      together: cpuOf('together'),
    },
  }
}

/** Measures once, with an API and a worker of its own, both warmed up. */
async function measureOnce(stage: Stage, sender: Sender, one: Variant, sizes: typeof full): Promise<void> {
  await stage.clear()
  const api = await stage.startApi(one.api)
  const client = openClient(api.url)
  try {
    await stage.startWorkers(1, one.worker, path)
    await client.postAll(inTurn([sender], sizes.warmUpSends))
    await allCalled(stage, sizes.warmUpSends)
    const before = await cpuByProcess(stage, api.program)
    const startedAt = nowMs()
    await client.postAll(inTurn([sender], sizes.sends))
    await allCalled(stage, sizes.warmUpSends + sizes.sends)
    const after = await cpuByProcess(stage, api.program)
    one.throughput.values.push((sizes.sends * 1000) / ((await lastCallAt(stage)) - startedAt))
    note(one, { before, after }, sizes.sends)
  } finally {
    await client.close()
    await api.program.kill()
  }
}

async function allCalled({ provider }: Stage, count: number): Promise<void> {
  if (!(await provider.gets(count, { path }, withinMs)))
    throw new Error(`not all ${count} were called in time`)
}

async function lastCallAt({ provider }: Stage): Promise<number> {
  return (await provider.calls({ path })).reduce((last, { arrivedAt }) => Math.max(last, arrivedAt), 0)
}

function note({ cpu }: Variant, { before, after }: Record<'before' | 'after', CpuByProcess>, sends: number) {
  const of: Record<Part, number> = {
    API: after.api - before.api,
    worker: after.worker - before.worker,
    PostgreSQL: after.postgres - before.postgres,
    Redis: sumOf(after.redis) - sumOf(before.redis),
  }
  for (const part of Object.keys(of) as Part[]) cpu[part].values.push(of[part] / sends)
  cpu.together.values.push(sumOf(Object.values(of)) / sends)
}
