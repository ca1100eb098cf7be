import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

const projectRoot = fileURLToPath(new URL('../..', import.meta.url))
const file = join(projectRoot, 'node_modules', '.cache', 'outbound-messaging-api', 'dev.json')
const answerWithinMs = 1000

/** What the CLI needs of the services that `npm run dev` runs in this checkout. */
export interface RunningDev {
  pid: number
  apiUrl: string
  environment: Record<
    'DATABASE_URL' | 'CREDENTIALS_KEY' | 'API_KEY_PEPPER' | 'ALLOWED_PRIVATE_NETWORKS',
    string
  >
  curl: string
}

/** The dev services that run at this moment, if any: a file that a killed one left behind names an API that is gone. */
export async function findRunningDev(): Promise<RunningDev | undefined> {
  try {
    const dev: RunningDev = JSON.parse(readFileSync(file, 'utf8'))
    process.kill(dev.pid, 0)
    const { headers } = await fetch(dev.apiUrl, { signal: AbortSignal.timeout(answerWithinMs) })
    return headers.has('X-Request-Id') ? dev : undefined
  } catch {
    return undefined
  }
}

/** For the owner's eyes only: it holds the keys of the dev services. */
export function announceRunningDev(dev: RunningDev): void {
  mkdirSync(dirname(file), { recursive: true })
  rmSync(file, { force: true })
  writeFileSync(file, JSON.stringify(dev), { mode: 0o600 })
}

export function withdrawRunningDev(): void {
  rmSync(file, { force: true })
}
