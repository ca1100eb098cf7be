import { type Binary, debianBinary } from './debian-binary.ts'
import { serverUser } from './server-user.ts'

const names = ['redis-server', 'valkey-server']

/** A Redis server that runs here, for the servers' user. */
export function redisBinary(): Promise<Binary> {
  return debianBinary({
    what: 'Redis',
    names,
    package: { names, withDependencies: true },
    advice: 'set REDIS_URL, e.g. to redis://127.0.0.1:6379 after `docker compose up -d redis`.',
    user: serverUser(),
  })
}
