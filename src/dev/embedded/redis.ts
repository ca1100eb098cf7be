import { connect } from 'node:net'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { redisBinary } from './redis-binary.ts'
import { type Embedded, type StartOptions, startServer } from './server-process.ts'

interface RedisOptions extends StartOptions {
  /** By their names in redis.conf, in addition to those that the service needs. */
  settings?: Record<string, string>
}

/** Starts a Redis as BullMQ needs it (noeviction, append-only file), without a password: it listens on 127.0.0.1 only. */
export async function startRedis({ settings: more, ...options }: RedisOptions): Promise<Embedded> {
  const { file, env } = await redisBinary()
  const pidFile = join(options.folder, 'redis.pid')
  return startServer(
    {
      name: 'Redis',
      // Debian's redis-server is a link to redis-check-rdb.
      program: /^(redis|valkey)-/,
      workingFolder: options.folder,
      pidFile,
      stopSignal: 'SIGTERM',
      advice: 'Set REDIS_URL to use another one, e.g. from `docker compose up -d redis`.',
      prepare: async () => {},
      command: (port) => ({
        file,
        env,
        args: [...settings(port, more), '--dir', options.folder, '--pidfile', pidFile],
      }),
      url: (port) => `redis://127.0.0.1:${port}`,
      answers: async (port, pid) => {
        const info = await readInfo(port)
        return info.includes(`process_id:${pid}\r`) && info.includes('loading:0\r')
      },
    },
    options,
  )
}

function settings(port: number, more: Record<string, string> = {}): string[] {
  return Object.entries({
    port: String(port),
    bind: '127.0.0.1',
    appendonly: 'yes',
    appendfsync: 'everysec',
    'maxmemory-policy': 'noeviction',
    // Each test file uses some of them.
    databases: '1024',
    save: '',
    ...more,
  }).flatMap(([name, value]) => [`--${name}`, value])
}

/** The reply to INFO; empty while nothing listens on the port. */
async function readInfo(port: number): Promise<string> {
  const socket = connect({ port, host: '127.0.0.1', timeout: 2000 })
  socket.once('timeout', () => socket.destroy(new Error('no answer')))
  socket.write('INFO\r\nQUIT\r\n')
  return text(socket).catch(() => '')
}
