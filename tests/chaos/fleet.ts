import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import type { Reaper } from '../../src/dev/embedded/index.ts'
import { type ServiceProcess, startService } from '../../src/dev/service-process.ts'
import { type Balancer, startBalancer } from '../support/balancer.ts'
import { eventually } from '../support/wait.ts'

type Role = 'api' | 'worker'

export interface Member {
  role: Role
  pid: number
  /** A worker's name, as in claims. */
  name: string
  /** The name of its connections to PostgreSQL. */
  applicationName: string
  /** The address of an API. */
  url: string
  service: ServiceProcess
  /** Whether it was stopped on purpose, so that it isn't replaced. */
  isRetired: boolean
}

/** The processes of the service, under a supervisor that replaces a killed one at once. */
export interface Fleet {
  balancer: Balancer
  apis(): Member[]
  workers(): Member[]
  kill(member: Member): Promise<void>
  /** Waits until all processes run. */
  complete(): Promise<void>
  /** Starts a new one, then sends SIGTERM to the oldest. `ended` resolves with its exit code. */
  replaceOldest(role: Role): Promise<{ ended: Promise<number | null> }>
  /** Restarts all processes, or those of the given roles, with these settings changed. */
  restartWith(changes: Record<string, string>, only?: readonly Role[]): Promise<void>
  /** The folder of the build that processes are started from now on; undefined for this build. */
  startFrom(build: string | undefined): void
  /** Processes that ended without being stopped or killed. */
  crashes: string[]
  stop(): Promise<void>
}

interface FleetOptions {
  environment: Record<string, string>
  reaper: Reaper
  size: Record<Role, number>
  onLine?: ((line: string) => void) | undefined
  build?: string | undefined
}

const entries = {
  api: { entry: 'src/server.ts', readyEvent: 'listening' },
  worker: { entry: 'workers/main.ts', readyEvent: 'working' },
}

export async function startFleet({ size, ...options }: FleetOptions): Promise<Fleet> {
  const balancer = await startBalancer()
  const members = new Set<Member>()
  const crashes: string[] = []
  let isStopping = false
  const of = (role: Role) => [...members].filter((member) => member.role === role && !member.isRetired)

  async function start(role: Role): Promise<void> {
    const member = await startMember(role, options)
    const ended = once(member.service.child, 'exit')
    members.add(member)
    if (role === 'api') await balancer.add(member.url)
    void ended.then(([exitCode]) => {
      if (exitCode !== null && !member.isRetired) crashes.push(`the ${role} ${member.pid} ended by itself`)
      members.delete(member)
      balancer.remove(member.url)
      if (!member.isRetired && !isStopping) void start(role).catch(console.error)
    })
    if (isStopping) member.service.child.kill('SIGKILL')
  }
  const roles: Role[] = ['api', 'worker']
  const startAll = (some: readonly Role[]) =>
    Promise.all(some.flatMap((role) => Array.from({ length: size[role] }, () => start(role))))
  const stop = async () => {
    isStopping = true
    balancer.stop()
    for (const { service } of members) service.child.kill('SIGKILL')
    await Promise.all([...members].map(({ service }) => service.stop()))
  }
  try {
    await startAll(roles)
  } catch (error) {
    await stop()
    throw error
  }

  return {
    balancer,
    crashes,
    apis: () => of('api'),
    workers: () => of('worker'),
    async kill({ service }) {
      service.child.kill('SIGKILL')
      await service.stop()
    },
    complete: async () => {
      await eventually('all processes run', async () => roles.every((role) => of(role).length >= size[role]))
    },
    async replaceOldest(role) {
      const [oldest] = of(role)
      await start(role)
      return { ended: retire(oldest) }
    },
    async restartWith(changes, only = roles) {
      Object.assign(options.environment, changes)
      const before = only.flatMap(of)
      await startAll(only)
      await Promise.all(before.map(retire))
    },
    startFrom(build) {
      options.build = build
    },
    stop,
  }
}

async function retire(member: Member | undefined): Promise<number | null> {
  if (!member) throw new Error('nobody to replace')
  member.isRetired = true
  await member.service.stop()
  return member.service.child.exitCode
}

async function startMember(role: Role, { onLine, ...options }: Omit<FleetOptions, 'size'>): Promise<Member> {
  const applicationName = `chaos-${randomUUID()}`
  const environment = { ...options.environment, PGAPPNAME: applicationName }
  const service = await startService({ ...entries[role], ...options, environment, ...(onLine && { onLine }) })
  const { worker, port } = service.ready
  return {
    role,
    pid: service.child.pid as number,
    name: String(worker),
    applicationName,
    url: `http://127.0.0.1:${port}`,
    service,
    isRetired: false,
  }
}
