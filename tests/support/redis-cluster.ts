import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { Redis } from 'ioredis'
import { v7 as uuidv7 } from 'uuid'
import { dataFolder, type Embedded, type Reaper, startRedis } from '../../src/dev/embedded/index.ts'
import { clusterSlots } from '../../src/platform/key-slot.ts'
import { portToKeep } from './port.ts'
import { eventually } from './wait.ts'

const masterCount = 3
/** Of the bus between nodes, above each node's own port. */
const busPortAbove = 10_000
export const nodeTimeoutMs = 2000

export interface ClusterServers {
  redisUrl: string
  /** The n-th master serves the n-th third of the slots. */
  killMaster(index: number): void
  freezeMaster(index: number): void
  thawMaster(index: number): void
  /** Whether the replica of this master has taken over. */
  hasFailedOver(index: number): Promise<boolean>
  /** Moves slots to another master, with their keys. */
  moveSlot(slot: number, from: number, to: number): Promise<void>
  /** Of a connection to this master. */
  ask<Answer>(index: number, work: (redis: Redis) => Promise<Answer>): Promise<Answer>
  stop(): Promise<void>
}

/** A Redis Cluster of three masters, each with a replica if wanted, in which a shard's outage doesn't stop the others. */
export async function startClusterServers(
  reaper: Reaper,
  { withReplicas = true } = {},
): Promise<ClusterServers> {
  const folder = await dataFolder(`cluster-${uuidv7()}`)
  const startNode = (_: unknown, index: number) =>
    startRedis({
      folder: join(folder, String(index)),
      reaper,
      folderToRemove: folder,
      choosePort: () => portToKeep(busPortAbove),
      settings: {
        'cluster-enabled': 'yes',
        'cluster-node-timeout': String(nodeTimeoutMs),
        'cluster-require-full-coverage': 'no',
      },
    })
  const nodes = await Promise.all(
    Array.from({ length: withReplicas ? 2 * masterCount : masterCount }, startNode),
  )
  const clients = nodes.map((node) => new Redis(node.url))
  for (const client of clients) client.on('error', () => {})
  const masters = nodes.slice(0, masterCount)
  const ask = async <Answer>(index: number, work: (redis: Redis) => Promise<Answer>) =>
    work(clients[index] as Redis)
  const idOf = (index: number) => ask(index, async (redis) => String(await redis.call('CLUSTER', 'MYID')))
  const stateOf = (index: number) => ask(index, async (redis) => String(await redis.cluster('INFO')))

  const firstSlot = (index: number) => Math.floor((index * clusterSlots) / masterCount)
  for (const index of masters.keys()) {
    await ask(index, async (redis) => {
      await redis.call('CLUSTER', 'SET-CONFIG-EPOCH', index + 1)
      await redis.call('CLUSTER', 'ADDSLOTSRANGE', firstSlot(index), firstSlot(index + 1) - 1)
    })
  }
  for (const node of nodes.slice(1))
    await ask(0, (redis) => redis.call('CLUSTER', 'MEET', '127.0.0.1', portOf(node)))
  const allKnow = async (known: RegExp) =>
    (await Promise.all(nodes.map((_, index) => stateOf(index)))).every((state) => known.test(state))
  await eventually('the nodes know each other', () =>
    allKnow(new RegExp(`cluster_known_nodes:${nodes.length}\\r`)),
  )
  for (const [index] of nodes.slice(masterCount).entries()) {
    const master = await idOf(index)
    await eventually('a replica', () =>
      ask(masterCount + index, (redis) => redis.call('CLUSTER', 'REPLICATE', master)).catch(() => false),
    )
  }
  await eventually('the Cluster is up', () => allKnow(/cluster_state:ok/))
  for (const [index] of nodes.slice(masterCount).entries())
    await eventually('the replica follows', () =>
      ask(masterCount + index, async (redis) =>
        (await redis.info('replication')).includes('master_link_status:up'),
      ),
    )
  return {
    redisUrl: `redis+cluster://${nodes.map((node) => `127.0.0.1:${portOf(node)}`).join()}`,
    killMaster: (index) => void process.kill((masters[index] as Embedded).pid, 'SIGKILL'),
    freezeMaster: (index) => void process.kill((masters[index] as Embedded).pid, 'SIGSTOP'),
    thawMaster: (index) => thaw(masters[index] as Embedded),
    hasFailedOver: (index) =>
      ask(masterCount + index, async (redis) =>
        (await redis.info('replication')).startsWith('# Replication\r\nrole:master'),
      ),
    async moveSlot(slot, from, to) {
      const [source, target] = [await idOf(from), await idOf(to)]
      await ask(to, (redis) => redis.call('CLUSTER', 'SETSLOT', slot, 'IMPORTING', source))
      await ask(from, (redis) => redis.call('CLUSTER', 'SETSLOT', slot, 'MIGRATING', target))
      await ask(from, async (redis) => {
        for (;;) {
          const keys = (await redis.call('CLUSTER', 'GETKEYSINSLOT', slot, 100)) as string[]
          if (keys.length === 0) return
          await redis.call(
            'MIGRATE',
            '127.0.0.1',
            portOf(nodes[to] as Embedded),
            '',
            0,
            5000,
            'KEYS',
            ...keys,
          )
        }
      })
      for (const index of [to, from, ...masters.keys()])
        await ask(index, (redis) => redis.call('CLUSTER', 'SETSLOT', slot, 'NODE', target))
    },
    ask,
    async stop() {
      for (const client of clients) client.disconnect()
      for (const node of nodes) thaw(node)
      await Promise.all(nodes.map((node) => node.stop()))
      await rm(folder, { recursive: true, force: true })
    },
  }
}

const portOf = ({ url }: Embedded) => Number(new URL(url).port)

function thaw({ pid }: Embedded): void {
  try {
    process.kill(pid, 'SIGCONT')
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error
  }
}
