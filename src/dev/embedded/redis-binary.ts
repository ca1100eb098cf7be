import { type Binary, debianBinary } from './debian-binary.ts'
import type { DebianPackage } from './debian-package.ts'
import { serverUser } from './server-user.ts'

/** The tools are needed too, because the server is a link to one of their programs. */
export const redisPackage: DebianPackage = {
  choices: [
    ['redis-server', 'redis-tools'],
    ['valkey-server', 'valkey-tools'],
  ],
  withDependencies: true,
}

/** A Redis or Valkey server that the servers' user can run. */
export function redisBinary(): Promise<Binary> {
  return debianBinary({
    what: 'Redis',
    names: ['redis-server', 'valkey-server'],
    package: redisPackage,
    versionOutput: /server v=/i,
    advice:
      'install redis-server, or set REDIS_URL, e.g. to redis://:PASSWORD@127.0.0.1:6379 after `docker compose up -d redis`.',
    user: serverUser(),
  })
}
