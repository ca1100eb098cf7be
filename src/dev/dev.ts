import { connect } from 'node:net'
import { announceRunningDev, findRunningDev, withdrawRunningDev } from '../cli/running-dev.ts'
import { runProcess } from '../platform/process/process.ts'
import { SettingsError } from '../platform/settings/settings.ts'
import { type Stack, startStack } from './stack.ts'
import { devData, devFolders, keptSeed, readKept, removeDevData } from './world/dev-data.ts'
import { reportToChannels, startEmulators } from './world/emulators.ts'
import { curlsFor, type EmulatedChannels, type Seed, seedEmulatedChannels } from './world/seed.ts'

const usualPort = 3000
const usualAdminPort = 3001

await runProcess(async () => {
  const { reset: isReset, cluster: isCluster } = readOptions(process.argv.slice(2))
  const folder = isCluster ? devFolders.cluster : devFolders.redis
  const running = await findRunningDev()
  if (running && isReset)
    throw new SettingsError(
      `npm run dev is running here, as process ${running.pid}: stop it (Ctrl-C there), then reset.`,
    )
  if (running) return console.log(`Already running here, as process ${running.pid}.\n\n${running.curl}`)
  if (isCluster && process.env.REDIS_URL)
    throw new SettingsError('--cluster starts a Redis Cluster: unset REDIS_URL first.')
  if (isReset) await removeDevData(folder)
  await run(folder, isCluster)
})

function readOptions(options: readonly string[]): { reset: boolean; cluster: boolean } {
  const unknown = options.find((option) => option !== '--reset' && option !== '--cluster')
  if (unknown === undefined)
    return { reset: options.includes('--reset'), cluster: options.includes('--cluster') }
  throw new SettingsError(
    `Unknown option ${unknown}: npm run dev takes only --reset, which removes its data and starts anew, and --cluster, ` +
      'which starts a Redis Cluster of three masters.',
  )
}

async function run(folder: string, isCluster: boolean): Promise<void> {
  const data = await devData(folder)
  const { seed: _seed, ...secrets } = readKept(data) ?? {}
  const emulators = await startEmulators()
  const stack = await startStack({
    folder,
    isCluster,
    settings: secrets,
    ...(!(await isTaken(usualPort)) && { port: usualPort }),
    adminPort: (await isTaken(usualAdminPort)) ? 0 : usualAdminPort,
    onLine: (line) => console.log(line),
    prepare: async (environment) => {
      const seed = await keptSeed(environment, data)
      const channels = await seedEmulatedChannels(environment, seed.accountId, emulators)
      // Before the API takes requests, because the CLI may be used as soon as it does.
      announce(`http://127.0.0.1:${environment.PORT}`, environment, seed, channels)
      return { seed, channels }
    },
  })
  // Before printing that it is ready, because a signal may come from then on.
  stopWithUs(stack)
  const { seed, channels } = stack.prepared
  reportToChannels(emulators, channels, stack.apiUrl)
  // Again, because the API listens at another port if its port was taken meanwhile.
  const curl = announce(stack.apiUrl, stack.environment, seed, channels)
  console.log(
    `\nThe console: ${stack.adminUrl}\n\nReady at ${stack.apiUrl}. Send a message:\n\n${curl}\n\n${placesToLook(stack, seed.accountId)}\n`,
  )
  if (data === undefined) return
  console.log(`Data, kept for the next start: ${data}`)
  console.log(`To remove it and start anew: npm run dev -- ${isCluster ? '--cluster ' : ''}--reset\n`)
}

/** Lets the CLI find these services. @returns curl commands that send messages. */
function announce(
  apiUrl: string,
  environment: Record<string, string>,
  seed: Seed,
  channels: EmulatedChannels,
): string {
  const { DATABASE_URL = '', CREDENTIALS_KEY = '', API_KEY_PEPPER = '' } = environment
  const { ALLOWED_PRIVATE_NETWORKS = '', CLIENT_PRIVATE_NETWORKS = '' } = environment
  const curl = curlsFor(apiUrl, seed, channels)
  const forCli = {
    NODE_ENV: 'development',
    ...{ DATABASE_URL, CREDENTIALS_KEY, API_KEY_PEPPER },
    ...{ ALLOWED_PRIVATE_NETWORKS, CLIENT_PRIVATE_NETWORKS },
  }
  announceRunningDev({ pid: process.pid, apiUrl, environment: forCli, curl })
  return curl
}

/** The addresses and commands to print: how to go on, and where to follow a send. */
function placesToLook({ apiUrl, adminUrl }: Stack, accountId: string): string {
  return [
    `Read and try the API: ${apiUrl}/docs`,
    `For the commands below, once in a terminal: alias outbound='npm run -s cli --'`,
    'Trace a send: outbound trace REQUEST_ID',
    'See callbacks arrive, in another terminal: npm run -s callbacks',
    `Inbox of the sandbox: ${adminUrl}/inbox`,
    `Queues: ${adminUrl}/queues`,
    `Account: ${accountId}, for the CLI: outbound channel list --account ${accountId}`,
  ].join('\n')
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
