import { createConnection } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { connect as connectByTls } from 'node:tls'
import { AbstractConnector, Redis } from 'ioredis'
import type { RedisAddress, RedisNode } from './address.ts'

type ClusterAddress = Extract<RedisAddress, { kind: 'cluster' }>
type Emit = Parameters<AbstractConnector['connect']>[0]
type Stream = Awaited<ReturnType<AbstractConnector['connect']>>

const answersWithinMs = 1000
const disconnectTimeoutMs = 2000
/** Limit of the nodes asked at once. */
const maxAsked = 3

/**
 * Connects an ordinary client to the master of one slot of a Cluster, as ioredis' Sentinel connector does to the master that
 * Sentinels name. The keys of a shard are in one slot, so its client needs no other node. At each connect, nodes are asked
 * anew which one that is.
 */
export function connectorToSlot(address: ClusterAddress, slot: number, tryAgainEveryMs: number) {
  const nodes = new ClusterNodes(address)
  return class extends AbstractConnector {
    constructor() {
      super(disconnectTimeoutMs)
    }

    override check({ role }: { role?: string }): boolean {
      return role === undefined || role === 'master'
    }

    override async connect(emit: Emit): Promise<Stream> {
      this.connecting = true
      for (;;) {
        const master = await nodes.masterOf(slot).catch((error: Error) => error)
        // Text that ioredis and BullMQ know.
        if (!this.connecting) throw new Error('Connection is closed.')
        if (!(master instanceof Error)) return this.#open(master)
        emit('error', master)
        await sleep(tryAgainEveryMs)
      }
    }

    #open({ host, port }: RedisNode): Stream {
      this.stream = address.hasTls ? connectByTls({ host, port }) : createConnection({ host, port })
      this.stream.once('error', (error) => {
        this.firstError = error
      })
      return this.stream
    }
  }
}

/** The nodes of a Cluster, as far as they are known. */
class ClusterNodes {
  readonly #address: ClusterAddress
  #known: RedisNode[]

  constructor(address: ClusterAddress) {
    this.#address = address
    this.#known = address.nodes
  }

  /** @throws if no node answers, or none serves the slot. */
  async masterOf(slot: number): Promise<RedisNode> {
    // Several at once: one that hangs would cost a second. The nodes of the URL are asked, too, as the others may all have moved.
    const all = new Map(
      [...this.#known, ...this.#address.nodes].map((node) => [`${node.host}:${node.port}`, node]),
    )
    const asked = shuffled([...all.values()]).slice(0, maxAsked)
    const ranges = await Promise.any(asked.map((node) => this.#slotsBy(node))).catch(
      ({ errors }: AggregateError) => Promise.reject(errors[0]),
    )
    this.#known = ranges.flatMap(({ nodes }) => nodes)
    const [master] = ranges.find(({ first, last }) => first <= slot && slot <= last)?.nodes ?? []
    if (!master) throw new Error(`No node of the Cluster serves slot ${slot}`)
    return master
  }

  async #slotsBy(asked: RedisNode) {
    const client = new Redis({
      ...asked,
      ...this.#address.login,
      ...(this.#address.hasTls && { tls: {} }),
      ...askOnce,
    })
    client.on('error', () => {})
    try {
      const ranges = await client.cluster('SLOTS')
      return ranges.map(([first, last, ...nodes]) => ({
        first,
        last,
        // The master, then its replicas. A node that doesn't know its own address leaves it empty.
        nodes: nodes.map(([host, port]) => ({ host: host || asked.host, port })),
      }))
    } finally {
      client.disconnect()
    }
  }
}

const askOnce = {
  connectTimeout: answersWithinMs,
  commandTimeout: answersWithinMs,
  enableReadyCheck: false,
  maxRetriesPerRequest: 0,
  retryStrategy: () => null,
}

function shuffled<Item>(items: readonly Item[]): Item[] {
  return items
    .map((item) => ({ item, at: Math.random() }))
    .sort((a, b) => a.at - b.at)
    .map(({ item }) => item)
}
