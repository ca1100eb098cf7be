import { setTimeout as sleep } from 'node:timers/promises'
import { Redis } from 'ioredis'
import { clusterSlots } from '../../platform/redis/key-slot.ts'
import { freePort } from './free-port.ts'
import { startRedis } from './redis.ts'
import type { Embedded, StartOptions } from './server-process.ts'

/** The port of the bus between the nodes, above each node's own. */
export const busPortAbove = 10_000
const highestPort = 65_535
const nodeTimeoutMs = 2000
const joinWithinMs = 30_000
const askEveryMs = 50

export interface EmbeddedCluster {
  /** For REDIS_URL. */
  url: string
  /** The n-th serves the n-th part of the slots. */
  masters: Embedded[]
  stop(): Promise<void>
}

/**
 * Starts a Redis Cluster of masters without replicas. One that is away doesn't stop the others.
 *
 * @param options.folder each node has a folder of its own, with its number after this name.
 */
export async function startRedisCluster(options: StartOptions, masterCount = 3): Promise<EmbeddedCluster> {
  const start = (index: number) => startClusterNode({ ...options, folder: `${options.folder}-${index}` })
  const masters = await Promise.all(Array.from({ length: masterCount }, (_, index) => start(index)))
  const clients = masters.map(({ url }) => new Redis(url))
  try {
    await Promise.all(clients.map((client, index) => takeSlots(client, index, masterCount)))
    // Each every other: those of an earlier start know each other at the ports of then.
    for (const [index, client] of clients.entries())
      for (const node of masters.toSpliced(index, 1))
        await client.call('CLUSTER', 'MEET', '127.0.0.1', portOf(node))
    await Promise.all(clients.map((client) => joined(client, masterCount)))
  } finally {
    for (const client of clients) client.disconnect()
  }
  return {
    url: clusterUrl(masters),
    masters,
    stop: async () => void (await Promise.all(masters.map((node) => node.stop()))),
  }
}

/** Starts a node that knows no other. */
export function startClusterNode(options: StartOptions): Promise<Embedded> {
  return startRedis({
    choosePort: portBelowBus,
    ...options,
    settings: {
      'cluster-enabled': 'yes',
      'cluster-node-timeout': String(nodeTimeoutMs),
      'cluster-require-full-coverage': 'no',
      // A Cluster has no others.
      databases: '1',
    },
  })
}

export const portOf = ({ url }: Embedded) => Number(new URL(url).port)

export const clusterUrl = (nodes: readonly Embedded[]) =>
  `redis+cluster://${nodes.map((node) => `127.0.0.1:${portOf(node)}`).join()}`

/** Assigns a new node its part of the slots. One of an earlier start has it. */
async function takeSlots(client: Redis, index: number, masterCount: number): Promise<void> {
  if (!(await stateOf(client)).includes('cluster_slots_assigned:0\r')) return
  const [first, after] = [index, index + 1].map((at) => Math.floor((at * clusterSlots) / masterCount))
  const slots = Array.from({ length: Number(after) - Number(first) }, (_, nr) => Number(first) + nr)
  // Otherwise the nodes would have to find out which of them goes first.
  await client.call('CLUSTER', 'SET-CONFIG-EPOCH', index + 1)
  await client.call('CLUSTER', 'ADDSLOTS', ...slots)
}

/** Waits until the node sees all masters, with all slots. */
async function joined(client: Redis, masterCount: number): Promise<void> {
  const isJoined = (state: string) =>
    /cluster_state:ok\r/.test(state) &&
    state.includes(`cluster_slots_ok:${clusterSlots}\r`) &&
    state.includes(`cluster_size:${masterCount}\r`)
  for (const deadline = Date.now() + joinWithinMs; !isJoined(await stateOf(client)); await sleep(askEveryMs))
    if (Date.now() > deadline)
      throw new Error(`The nodes of the Cluster did not join: ${await stateOf(client)}`)
}

const stateOf = async (client: Redis) => String(await client.cluster('INFO'))

/** Free for a node and for its bus. */
async function portBelowBus(): Promise<number> {
  for (;;) {
    const port = await freePort()
    if (port + busPortAbove <= highestPort) return port
  }
}
