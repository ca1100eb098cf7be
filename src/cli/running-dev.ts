import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

/** From the source and from the build, which has no package.json of its own. */
const [projectRoot = ''] = ['../..', '../../..']
  .map((path) => fileURLToPath(new URL(path, import.meta.url)))
  .filter((path) => existsSync(join(path, 'package.json')))
const file = join(projectRoot, 'node_modules', '.cache', 'outbound-messaging-api', 'dev.json')
const answerWithinMs = 1000

/** The services that `npm run dev` runs in this checkout, as far as the CLI needs them. */
export interface RunningDev {
  pid: number
  apiUrl: string
  environment: Record<
    | 'NODE_ENV'
    | 'DATABASE_URL'
    | 'CREDENTIALS_KEY'
    | 'API_KEY_PEPPER'
    | 'ALLOWED_PRIVATE_NETWORKS'
    | 'CLIENT_PRIVATE_NETWORKS',
    string
  >
  curl: string
}

/** The running dev services, if any. Checks that they answer, since a killed one leaves its file behind. */
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

/** Writes the file for `findRunningDev`. Only the owner may read it, because it contains the keys of the dev services. */
export function announceRunningDev(dev: RunningDev): void {
  mkdirSync(dirname(file), { recursive: true })
  rmSync(file, { force: true })
  writeFileSync(file, JSON.stringify(dev), { mode: 0o600 })
}

export function withdrawRunningDev(): void {
  rmSync(file, { force: true })
}
