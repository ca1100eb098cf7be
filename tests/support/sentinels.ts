import { writeFileSync } from 'node:fs'
import { chown, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { Redis } from 'ioredis'
import { v7 as uuidv7 } from 'uuid'
import { dataFolder, type Embedded, portOf, type Reaper, startRedis } from '../../src/dev/embedded/index.ts'
import { redisBinary } from '../../src/dev/embedded/redis-binary.ts'
import { startServer } from '../../src/dev/embedded/server-process.ts'
import { serverUser } from '../../src/dev/embedded/server-user.ts'
import { portToKeep } from './port.ts'
import { thaw } from './thaw.ts'
import { eventually } from './wait.ts'

export const downAfterMs = 3000
/** After twice this time Sentinels begin another failover. */
const failoverTimeoutMs = 5000
const master = 'outbound'
const sentinelCount = 3
const replicaCount = 2

/** A master with replicas, and Sentinels that watch it. */
export interface SentinelServers {
  redisUrl: string
  killMaster(): Promise<void>
  freezeMaster(): Promise<void>
  /** Whether the Sentinels name another master than the one that was struck. */
  hasSwitched(): Promise<boolean>
  /** The one that was struck comes back; resolves when it follows the new master, and the next one may be struck. */
  restore(): Promise<void>
  /** Every Redis and every Sentinel. */
  freezeAll(): void
  thawAll(): void
  stop(): Promise<void>
}

export async function startSentinelServers(reaper: Reaper): Promise<SentinelServers> {
  const folder = await dataFolder(`sentinel-${uuidv7()}`)
  const inFolder = (name: string) => ({ folder: join(folder, name), reaper, folderToRemove: folder })
  const startNode = (index: number, port: number, followed?: number) =>
    startRedis({
      ...inFolder(`redis-${index}`),
      choosePort: async () => port,
      ...(followed !== undefined && { settings: { replicaof: `127.0.0.1 ${followed}` } }),
    })
  const ports = await Promise.all(Array.from({ length: 1 + replicaCount }, () => portToKeep()))
  const [firstPort] = ports as [number]
  const nodes = await Promise.all(
    ports.map((port, index) => startNode(index, port, index === 0 ? undefined : firstPort)),
  )
  const sentinels = await Promise.all(
    Array.from({ length: sentinelCount }, (_, index) =>
      startSentinel(inFolder(`sentinel-${index}`), firstPort),
    ),
  )
  const asked = new Redis({ port: portOf(sentinels[0] as Embedded) })
  asked.on('error', () => {})
  const masterPort = async () => {
    const address = (await asked.call('SENTINEL', 'get-master-addr-by-name', master)) as string[]
    return Number(address[1])
  }
  await eventually('the Sentinels know all', async () => {
    const known = (await asked.call('SENTINEL', 'master', master)) as string[]
    const field = (name: string) => Number(known[known.indexOf(name) + 1])
    return field('num-slaves') === replicaCount && field('num-other-sentinels') === sentinelCount - 1
  })
  let struck = { index: 0, at: 0, isKilled: false }
  const strike = async (signal: 'SIGKILL' | 'SIGSTOP') => {
    const index = ports.indexOf(await masterPort())
    struck = { index, at: performance.now(), isKilled: signal === 'SIGKILL' }
    process.kill((nodes[index] as Embedded).pid, signal)
  }
  const follows = async (index: number) => {
    const client = new Redis({ port: ports[index] as number, retryStrategy: () => null })
    client.on('error', () => {})
    const info = await client.info('replication').catch(() => '')
    client.disconnect()
    return info.includes('role:slave') && info.includes('master_link_status:up')
  }
  const all = () => [...sentinels, ...nodes]
  return {
    redisUrl: `redis+sentinel://${sentinels.map((one) => `127.0.0.1:${portOf(one)}`).join()}/${master}`,
    killMaster: () => strike('SIGKILL'),
    freezeMaster: () => strike('SIGSTOP'),
    hasSwitched: async () => (await masterPort()) !== ports[struck.index],
    async restore() {
      const { index, at, isKilled } = struck
      const node = nodes[index] as Embedded
      thaw(node.pid)
      if (isKilled) {
        await node.stop()
        nodes[index] = await startNode(index, ports[index] as number, await masterPort())
      }
      await eventually('it follows the new master', () => follows(index), 60_000)
      await sleep(Math.max(0, at + downAfterMs + 2 * failoverTimeoutMs - performance.now()))
    },
    freezeAll: () => {
      for (const { pid } of all()) process.kill(pid, 'SIGSTOP')
    },
    thawAll: () => {
      for (const { pid } of all()) thaw(pid)
    },
    async stop() {
      asked.disconnect()
      for (const { pid } of all()) thaw(pid)
      await Promise.all(all().map((server) => server.stop()))
      await rm(folder, { recursive: true, force: true })
    },
  }
}

async function startSentinel(
  options: Parameters<typeof startRedis>[0],
  masterPort: number,
): Promise<Embedded> {
  const { file, env } = await redisBinary()
  const config = join(options.folder, 'sentinel.conf')
  return await startServer(
    {
      name: 'Sentinel',
      program: /^(redis|valkey)-/,
      workingFolder: options.folder,
      pidFile: join(options.folder, 'sentinel.pid'),
      stopSignal: 'SIGTERM',
      advice: '',
      // It writes what it learns to its own file.
      prepare: async () => {
        await writeFile(config, '')
        const { uid, gid } = serverUser()
        if (uid !== undefined && gid !== undefined) await chown(config, uid, gid)
      },
      command: (port) => {
        writeFileSync(config, sentinelConfig(port, masterPort, options.folder))
        return { file, env: env ?? {}, args: [config, '--sentinel'] }
      },
      url: (port) => `redis://127.0.0.1:${port}`,
      answers: async (port, pid) => {
        const client = new Redis({ port, lazyConnect: true, retryStrategy: () => null })
        client.on('error', () => {})
        const info = await client.info('server').catch(() => '')
        client.disconnect()
        return info.includes(`process_id:${pid}\r`)
      },
    },
    options,
  )
}

const sentinelConfig = (port: number, masterPort: number, folder: string) => `
port ${port}
bind 127.0.0.1
dir ${folder}
pidfile ${join(folder, 'sentinel.pid')}
sentinel monitor ${master} 127.0.0.1 ${masterPort} 2
sentinel down-after-milliseconds ${master} ${downAfterMs}
sentinel failover-timeout ${master} ${failoverTimeoutMs}
sentinel parallel-syncs ${master} 1
`
