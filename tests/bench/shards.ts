import { readFile } from 'node:fs/promises'
import { setTimeout as sleep } from 'node:timers/promises'
import { Redis } from 'ioredis'
import { parseRedisUrl } from '../../src/platform/redis-address.ts'
import { newContact } from '../support/builders.ts'
import { freshCluster } from '../support/fresh-cluster.ts'
import { alternate, type Benchmark, type Result } from './benchmark.ts'
import { type Figure, median } from './figures.ts'
import { openClient, type Sender } from './post.ts'
import { openAccounts, openChannels } from './senders.ts'
import { ratioOf } from './speed/ratio.ts'
import { openStage, type Stage } from './stage.ts'

const full = { seconds: 20, idleSeconds: 20 }
const quick = { seconds: 5, idleSeconds: 5 }
const perSecond = 200
const accounts = 50
const warmUpSeconds = 5
const endsWithinMs = 30_000
const ticksPerSecond = 100
/** Most of the Redis CPU of a send, relative to one Redis; of a master's, relative to the mean of all. */
const bounds = { 3: 1.4, 6: 1.6, busiest: 1.15 }
const mostOfIdleCore = 2

interface Store {
  redisUrl: string
  nodes: Redis[]
}

/** What shards cost: Redis' CPU time for a send, from its accept to its end, and a worker's that has nothing to do. */
export const shards: Benchmark = {
  names: ['redis-cpu', 'idle'],
  async run({ runs, isQuick, isChosen, print }) {
    const { seconds, idleSeconds } = isQuick ? quick : full
    const stage = await openStage()
    const clusters = await Promise.all([openCluster(3), openCluster(6)])
    const one: Store = { redisUrl: `redis://127.0.0.1:${stage.redis.options.port}`, nodes: [stage.redis] }
    try {
      const senders = await openChannels(await openAccounts(stage, accounts), '/accept')
      const stores = [one, ...clusters].map((store) => ({
        ...store,
        cpu: { variant: nameOf(store), unit: ' µs', values: [] as number[] },
        busiest: { variant: nameOf(store), unit: '', values: [] as number[] },
        idle: { variant: nameOf(store), unit: ' %', values: [] as number[] },
      }))
      const measure = (store: (typeof stores)[number]) => async () => {
        if (isChosen('redis-cpu')) {
          const micros = await redisMicros(stage, store, senders, seconds)
          const all = micros.reduce((sum, some) => sum + some, 0)
          store.cpu.values.push(all)
          store.busiest.values.push((Math.max(...micros) * micros.length) / all)
          print(
            `shards: ${nameOf(store)}: ${micros.map((one) => one.toFixed(0)).join(' + ')} µs of Redis a send`,
          )
        }
        if (isChosen('idle')) {
          const percent = await idlePercent(stage, store, idleSeconds)
          store.idle.values.push(percent)
          print(`shards: ${nameOf(store)}: an idle worker takes ${percent.toFixed(1)} % of a core`)
        }
      }
      await alternate(runs, stores.map(measure))
      const [base, ...others] = stores as [(typeof stores)[number], ...typeof stores]
      const ofRedis = others.flatMap(({ nodes, cpu, busiest }) => [
        ratioTo(base.cpu, cpu, bounds[nodes.length as 3 | 6]),
        atMost('redis-cpu', 'busiest master ÷ mean of all', busiest, bounds.busiest),
      ])
      const ofIdle = stores.map(({ idle }) =>
        atMost('idle', 'an idle worker, of a core', idle, mostOfIdleCore),
      )
      const conditions = `${perSecond} sends/s of ${accounts} accounts, one API and one worker; Redis' own count of its CPU time`
      return {
        conditions,
        results: [...(isChosen('redis-cpu') ? ofRedis : []), ...(isChosen('idle') ? ofIdle : [])],
      }
    } finally {
      for (const { nodes } of clusters) for (const node of nodes) node.disconnect()
      await stage.close()
    }
  },
}

const nameOf = ({ nodes }: Store) => (nodes.length === 1 ? 'one Redis' : `${nodes.length} masters and shards`)

async function openCluster(masters: number): Promise<Store> {
  const redisUrl = await freshCluster(masters)
  const address = parseRedisUrl(redisUrl)
  return { redisUrl, nodes: address.kind === 'cluster' ? address.nodes.map((node) => new Redis(node)) : [] }
}

const settingsOf = ({ redisUrl, nodes }: Store) => ({
  REDIS_URL: redisUrl,
  QUEUE_SHARDS: String(nodes.length),
})

/** Of each node, for a send. */
async function redisMicros(stage: Stage, store: Store, senders: readonly Sender[], seconds: number) {
  await stage.clear()
  const [api, worker] = [
    await stage.start('api', settingsOf(store)),
    await stage.start('worker', settingsOf(store)),
  ]
  const client = openClient(`http://127.0.0.1:${api.ready.port}`)
  const send = async (forSeconds: number) => {
    const count = forSeconds * perSecond
    const before = await stage.provider.count()
    const postOf = (index: number) => ({
      sender: senders[index % senders.length] as Sender,
      contact: newContact(),
    })
    await client.postSteadily([{ perSecond, count, postOf }])
    if (!(await stage.provider.gets(before + count, {}, endsWithinMs)))
      throw new Error('the sends did not end')
  }
  try {
    await send(warmUpSeconds)
    const before = await Promise.all(store.nodes.map(cpuMicros))
    await send(seconds)
    const after = await Promise.all(store.nodes.map(cpuMicros))
    return after.map((micros, node) => (micros - Number(before[node])) / (seconds * perSecond))
  } finally {
    await client.close()
    await Promise.all([api.kill(), worker.kill()])
  }
}

async function cpuMicros(node: Redis): Promise<number> {
  const info = await node.info('cpu')
  const of = (name: string) => Number(new RegExp(`^${name}:([\\d.]+)`, 'm').exec(info)?.[1])
  return (of('used_cpu_user') + of('used_cpu_sys')) * 1e6
}

async function idlePercent(stage: Stage, store: Store, seconds: number): Promise<number> {
  await stage.clear()
  const worker = await stage.start('worker', settingsOf(store))
  try {
    await sleep(warmUpSeconds * 1000)
    const before = await ticksOf(worker.pid)
    await sleep(seconds * 1000)
    return ((await ticksOf(worker.pid)) - before) / ticksPerSecond / (seconds / 100)
  } finally {
    await worker.kill()
  }
}

/** In user and kernel mode, by /proc. */
async function ticksOf(pid: number): Promise<number> {
  const stat = await readFile(`/proc/${pid}/stat`, 'utf8')
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
  return Number(fields[11]) + Number(fields[12])
}

function ratioTo(base: Figure, of: Figure, most: number): Result {
  const ratio = ratioOf({ of, to: base })
  return {
    case: 'redis-cpu',
    measured: "Redis' CPU time of a send",
    figures: [of, base, ratio],
    reach: `at most ${most}`,
    isReached: median(ratio.values) <= most,
  }
}

function atMost(name: string, measured: string, figure: Figure, most: number): Result {
  return {
    case: name,
    measured,
    figures: [figure],
    reach: `at most ${most}`,
    isReached: median(figure.values) <= most,
  }
}
