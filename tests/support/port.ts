import { randomInt } from 'node:crypto'
import { once } from 'node:events'
import { createServer } from 'node:net'
import { eventually } from './wait.ts'

/** Below the range from which Linux assigns ports. */
const [lowest, highest] = [12_000, 32_000]

/**
 * For a process that gets its port as a setting, and takes it later: a port without a listener, which is not assigned to others
 * meanwhile.
 *
 * @param others how far above it others have to be free, too.
 */
export function portToKeep(...others: number[]): Promise<number> {
  return eventually('a free port', async () => {
    const port = randomInt(lowest, highest)
    const areFree = await Promise.all([0, ...others].map((above) => isFree(port + above)))
    return areFree.every(Boolean) && port
  })
}

async function isFree(port: number): Promise<boolean> {
  const server = createServer().listen(port, '127.0.0.1')
  try {
    await once(server, 'listening')
  } catch {
    return false
  }
  server.close()
  await once(server, 'close')
  return true
}
