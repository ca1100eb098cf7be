import { readFileSync, renameSync, writeFileSync } from 'node:fs'
import { connect } from 'node:net'
import { join } from 'node:path'
import { announceRunningDev, findRunningDev, withdrawRunningDev } from '../cli/running-dev.ts'
import { runProcess } from '../platform/process.ts'
import { dataFolder } from './embedded/index.ts'
import { startEmulators } from './emulators/index.ts'
import { curlsFor, type Seed, seedDemoAccount, seedEmulatedChannels } from './seed.ts'
import { type Stack, startStack } from './stack.ts'

/** Kept with the data of the embedded servers, so that what they hold can be read the next time. */
interface Kept {
  CREDENTIALS_KEY: string
  API_KEY_PEPPER: string
  seed: Seed
}

const folder = 'dev'
const usualPort = 3000
const usualAdminPort = 3001

await runProcess(async () => {
  const running = await findRunningDev()
  if (running) console.log(`Already running here, as process ${running.pid}.\n\n${running.curl}`)
  else await run()
})

async function run(): Promise<void> {
  const keptFile = join(await dataFolder(folder), 'secrets.json')
  const kept = process.env.DATABASE_URL ? undefined : readKept(keptFile)
  const { seed: keptSeed, ...keptSecrets } = kept ?? {}
  const emulators = await startEmulators()
  const stack = await startStack({
    folder,
    settings: keptSecrets,
    ...(!(await isTaken(usualPort)) && { port: usualPort }),
    adminPort: (await isTaken(usualAdminPort)) ? 0 : usualAdminPort,
    onLine: (line) => console.log(line),
  })
  const { DATABASE_URL = '', CREDENTIALS_KEY = '', API_KEY_PEPPER = '' } = stack.environment
  const isSameAsKept = kept?.CREDENTIALS_KEY === CREDENTIALS_KEY && kept.API_KEY_PEPPER === API_KEY_PEPPER
  const seed = (isSameAsKept && keptSeed) || (await seedDemoAccount(stack.environment))
  if (!process.env.DATABASE_URL) keep(keptFile, { CREDENTIALS_KEY, API_KEY_PEPPER, seed })

  const channels = await seedEmulatedChannels(stack.environment, seed.accountId, emulators)
  const curl = curlsFor(stack.apiUrl, seed, channels)
  const environment = { DATABASE_URL, CREDENTIALS_KEY, API_KEY_PEPPER }
  announceRunningDev({ pid: process.pid, apiUrl: stack.apiUrl, environment, curl })
  console.log(`\nReady at ${stack.apiUrl}. Send one:\n\n${curl}\n\n${placesToLook(stack)}\n`)
  stopWithUs(stack)
}

/** Where to see what became of a send. */
function placesToLook({ adminUrl }: Stack): string {
  return [
    'Trace it: npm run -s cli -- trace REQUEST_ID',
    `Support page: ${adminUrl}/support`,
    `What the sandbox received: ${adminUrl}/inbox`,
    `Queues: ${adminUrl}/queues`,
  ].join('\n')
}

/** Undefined where nothing is kept, or it can't be read: then all is made anew. */
function readKept(file: string): Kept | undefined {
  try {
    return JSON.parse(readFileSync(file, 'utf8'))
  } catch {
    return undefined
  }
}

function keep(file: string, kept: Kept): void {
  writeFileSync(`${file}.new`, JSON.stringify(kept), { mode: 0o600 })
  renameSync(`${file}.new`, file)
}

function stopWithUs(stack: Stack): void {
  let stopping = false
  const stop = async (exitCode: number) => {
    if (stopping) return
    stopping = true
    withdrawRunningDev()
    await stack.stop()
    process.exit(exitCode)
  }
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => void stop(0))
  for (const { child } of stack.processes) {
    child.once('exit', (code) => {
      if (!stopping)
        console.error(`A process of the service ended by itself, with code ${code}; stopping the rest.`)
      void stop(1)
    })
  }
}

async function isTaken(port: number): Promise<boolean> {
  return await new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1')
    socket.once('connect', () => resolve(true)).once('error', () => resolve(false))
    socket.once('connect', () => socket.destroy())
  })
}
