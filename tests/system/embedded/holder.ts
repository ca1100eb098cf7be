// Run as a process of its own: starts servers, says where they are in one line of JSON, and holds them until it is
// asked to stop (a line on stdin) or killed. Arguments: the checkout to load the code from, what to start, as JSON.
import { once } from 'node:events'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import type * as Embedded from '../../../src/dev/embedded/index.ts'

const [checkout = '', wish = ''] = process.argv.slice(2)
const module = pathToFileURL(join(checkout, 'src/dev/embedded/index.ts')).href
const { dataFolder, startEmbedded, startPostgres, startRedis }: typeof Embedded = await import(module)

const { orphans, ...rest } = JSON.parse(wish)
const servers = orphans ? await startUnwatched(rest.folder) : await startEmbedded(rest)
console.log(JSON.stringify({ databaseUrl: servers.databaseUrl, redisUrl: servers.redisUrl }))

const hold = setInterval(() => {}, 60_000)
await once(process.stdin, 'data')
await servers.stop()
clearInterval(hold)
process.stdin.destroy()

/** Simulates a reaper that was killed together with this process. */
async function startUnwatched(name: string) {
  const folder = await dataFolder(name)
  const reaper = { watch() {}, forget() {}, async close() {} }
  const postgres = await startPostgres({ folder: join(folder, 'postgres'), reaper })
  const redis = await startRedis({ folder: join(folder, 'redis'), reaper })
  const stop = async () => {
    await postgres.stop()
    await redis.stop()
  }
  return { databaseUrl: postgres.url, redisUrl: redis.url, stop }
}
