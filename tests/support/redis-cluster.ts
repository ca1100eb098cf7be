import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { Redis } from 'ioredis'
import { v7 as uuidv7 } from 'uuid'
import {
  busPortAbove,
  clusterUrl,
  dataFolder,
  type Embedded,
  portOf,
  type Reaper,
  startClusterNode,
  startRedisCluster,
} from '../../src/dev/embedded/index.ts'
import { portToKeep } from './port.ts'
import { thaw } from './thaw.ts'
import { eventually } from './wait.ts'

const slotsAtOnce = 200

/** A Redis Cluster of three masters, whose nodes are named by number: the n-th master serves the n-th third of the slots. */
export interface ClusterServers {
  redisUrl: string
  killMaster(index: number): void
  freezeMaster(index: number): void
  thawMaster(index: number): void
  /** Whether the replica of this master has taken over. */
  hasFailedOver(index: number): Promise<boolean>
  /** @returns the number of a new master, without slots. */
  addMaster(): Promise<number>
  /** Moves slots to another master, with their keys. */
  moveSlots(slots: readonly number[], from: number, to: number): Promise<void>
  /** Result of commands on a connection to this node. */
  ask<Answer>(index: number, work: (redis: Redis) => Promise<Answer>): Promise<Answer>
  stop(): Promise<void>
}

/** @param options.withReplicas whether each master has a replica, which takes over. */
export async function startClusterServers(
  reaper: Reaper,
  { withReplicas = true } = {},
): Promise<ClusterServers> {
  const folder = await dataFolder(`cluster-${uuidv7()}`)
  const common = { reaper, folderToRemove: folder, choosePort: () => portToKeep(busPortAbove) }
  const { masters } = await startRedisCluster({ ...common, folder: join(folder, 'master') })
  const masterCount = masters.length
  const nodes = [...masters]
  const clients: Redis[] = []
  const connect = (node: Embedded) => {
    const client = new Redis(node.url)
    client.on('error', () => {})
    clients.push(client)
  }
  for (const node of masters) connect(node)
  const ask: ClusterServers['ask'] = (index, work) => work(clients[index] as Redis)
  const idOf = (index: number) => ask(index, async (redis) => String(await redis.call('CLUSTER', 'MYID')))

  /** A node that the others know. @returns its number. */
  async function joinNode(name: string): Promise<number> {
    const node = await startClusterNode({ ...common, folder: join(folder, name) })
    connect(node)
    const index = nodes.push(node) - 1
    const id = await idOf(index)
    await ask(0, (redis) => redis.call('CLUSTER', 'MEET', '127.0.0.1', portOf(node)))
    await eventually('the nodes know the new one', async () => {
      const known = await Promise.all(
        nodes.map((_, other) => ask(other, async (redis) => String(await redis.call('CLUSTER', 'NODES')))),
      )
      return known.every((list) => list.includes(id) && list.trim().split('\n').length === nodes.length)
    })
    return index
  }
  if (withReplicas) for (const master of masters.keys()) await addReplica(master)

  async function addReplica(master: number): Promise<void> {
    const replica = await joinNode(`replica-${master}`)
    const id = await idOf(master)
    await ask(replica, (redis) => redis.call('CLUSTER', 'REPLICATE', id))
    await eventually('the replica follows', () =>
      ask(replica, async (redis) => (await redis.info('replication')).includes('master_link_status:up')),
    )
  }

  async function moveSlot(slot: number, from: number, to: number, ids: readonly string[]): Promise<void> {
    const [source, target] = [ids[from] as string, ids[to] as string]
    await ask(to, (redis) => redis.call('CLUSTER', 'SETSLOT', slot, 'IMPORTING', source))
    await ask(from, async (redis) => {
      await redis.call('CLUSTER', 'SETSLOT', slot, 'MIGRATING', target)
      for (;;) {
        const keys = (await redis.call('CLUSTER', 'GETKEYSINSLOT', slot, 100)) as string[]
        if (keys.length === 0) return
        const address = ['127.0.0.1', portOf(nodes[to] as Embedded)]
        // A busy machine may make the target take the others for away for a moment.
        await eventually('the target takes the keys', () =>
          redis.call('MIGRATE', ...address, '', 0, 5000, 'KEYS', ...keys).catch((error: Error) => {
            if (!error.message.includes('CLUSTERDOWN')) throw error
          }),
        )
      }
    })
    // First the new owner, which would otherwise refuse what the former one redirects to it.
    for (const index of [to, from])
      await ask(index, (redis) => redis.call('CLUSTER', 'SETSLOT', slot, 'NODE', target))
  }

  return {
    redisUrl: clusterUrl(nodes),
    killMaster: (index) => void process.kill((nodes[index] as Embedded).pid, 'SIGKILL'),
    freezeMaster: (index) => void process.kill((nodes[index] as Embedded).pid, 'SIGSTOP'),
    thawMaster: (index) => thaw((nodes[index] as Embedded).pid),
    hasFailedOver: (index) =>
      ask(masterCount + index, async (redis) => (await redis.info('replication')).includes('role:master')),
    async addMaster() {
      const index = await joinNode('added')
      await eventually('it takes slots', () =>
        ask(index, async (redis) => String(await redis.cluster('INFO')).includes('cluster_state:ok')),
      )
      return index
    },
    async moveSlots(slots, from, to) {
      const ids = await Promise.all(nodes.map((_, index) => idOf(index)))
      for (let first = 0; first < slots.length; first += slotsAtOnce) {
        const some = slots.slice(first, first + slotsAtOnce)
        await Promise.all(some.map((slot) => moveSlot(slot, from, to, ids)))
      }
    },
    ask,
    async stop() {
      for (const client of clients) client.disconnect()
      for (const { pid } of nodes) thaw(pid)
      await Promise.all(nodes.map((node) => node.stop()))
      await rm(folder, { recursive: true, force: true })
    },
  }
}
