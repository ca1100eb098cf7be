import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

const projectRoot = fileURLToPath(new URL('../..', import.meta.url))
const file = join(projectRoot, 'node_modules', '.cache', 'outbound-messaging-api', 'dev.json')

/** How to reach the services that `npm run dev` runs in this checkout. */
export interface RunningDev {
  pid: number
  apiUrl: string
  /** The settings that its processes run with. */
  environment: Record<string, string>
  curl: string
}

/** The dev services that run at this moment, if any. */
export function findRunningDev(): RunningDev | undefined {
  try {
    const dev: RunningDev = JSON.parse(readFileSync(file, 'utf8'))
    process.kill(dev.pid, 0)
    return dev
  } catch {
    return undefined
  }
}

/** For the owner's eyes only: it holds the keys of the dev services. */
export function announceRunningDev(dev: RunningDev): void {
  mkdirSync(dirname(file), { recursive: true })
  writeFileSync(file, JSON.stringify(dev), { mode: 0o600 })
}

export function withdrawRunningDev(): void {
  rmSync(file, { force: true })
}
