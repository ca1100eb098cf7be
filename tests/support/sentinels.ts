import { writeFileSync } from 'node:fs'
import { chown, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { Redis } from 'ioredis'
import { v7 as uuidv7 } from 'uuid'
import { dataFolder, type Embedded, type Reaper, startRedis } from '../../src/dev/embedded/index.ts'
import { redisBinary } from '../../src/dev/embedded/redis-binary.ts'
import { startServer } from '../../src/dev/embedded/server-process.ts'
import { serverUser } from '../../src/dev/embedded/server-user.ts'
import { eventually } from './wait.ts'

export const downAfterMs = 3000
const master = 'outbound'
const sentinelCount = 3
const replicaCount = 2

/** A master with replicas, and Sentinels that watch it. */
export interface SentinelServers {
  redisUrl: string
  killFirstMaster(): void
  freezeFirstMaster(): void
  thawFirstMaster(): void
  /** Whether the Sentinels name another master. */
  hasSwitched(): Promise<boolean>
  stop(): Promise<void>
}

export async function startSentinelServers(reaper: Reaper): Promise<SentinelServers> {
  const folder = await dataFolder(`sentinel-${uuidv7()}`)
  const inFolder = (name: string) => ({ folder: join(folder, name), reaper, folderToRemove: folder })
  const first = await startRedis(inFolder('master'))
  const firstPort = portOf(first)
  const replicas = await Promise.all(
    Array.from({ length: replicaCount }, (_, index) =>
      startRedis({ ...inFolder(`replica-${index}`), settings: { replicaof: `127.0.0.1 ${firstPort}` } }),
    ),
  )
  const sentinels = await Promise.all(
    Array.from({ length: sentinelCount }, (_, index) =>
      startSentinel(inFolder(`sentinel-${index}`), firstPort),
    ),
  )
  const asked = new Redis({ port: portOf(sentinels[0] as Embedded) })
  const masterPort = async () => {
    const address = (await asked.call('SENTINEL', 'get-master-addr-by-name', master)) as string[]
    return Number(address[1])
  }
  await eventually('the Sentinels know all', async () => {
    const known = (await asked.call('SENTINEL', 'master', master)) as string[]
    const field = (name: string) => Number(known[known.indexOf(name) + 1])
    return field('num-slaves') === replicaCount && field('num-other-sentinels') === sentinelCount - 1
  })
  return {
    redisUrl: `redis+sentinel://${sentinels.map((one) => `127.0.0.1:${portOf(one)}`).join()}/${master}`,
    killFirstMaster: () => void process.kill(first.pid, 'SIGKILL'),
    freezeFirstMaster: () => void process.kill(first.pid, 'SIGSTOP'),
    thawFirstMaster: () => thaw(first),
    hasSwitched: async () => (await masterPort()) !== firstPort,
    async stop() {
      asked.disconnect()
      thaw(first)
      await Promise.all([...sentinels, first, ...replicas].map((server) => server.stop()))
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
sentinel failover-timeout ${master} 6000
sentinel parallel-syncs ${master} 1
`

const portOf = ({ url }: Embedded) => Number(new URL(url).port)

function thaw({ pid }: Embedded): void {
  try {
    process.kill(pid, 'SIGCONT')
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error
  }
}
