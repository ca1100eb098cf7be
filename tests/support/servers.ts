import { existsSync, readFileSync } from 'node:fs'
import { inject } from 'vitest'
import { eventually } from './wait.ts'

export type Servers =
  | {
      /** Its database `postgres` is migrated, to be copied for each test file. */
      postgresUrl: string
      redisUrl: string
    }
  | { fault: string }

/** The servers of this test run. They may still be starting (global-setup.ts). */
export async function testServers() {
  const file = inject('serversFile')
  const servers = await eventually(
    'the servers of the tests',
    async () => existsSync(file) && (JSON.parse(readFileSync(file, 'utf8')) as Servers),
  )
  if ('fault' in servers) throw new Error(servers.fault)
  return servers
}
