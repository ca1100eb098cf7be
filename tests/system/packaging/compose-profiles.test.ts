import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { chmod, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { Redis } from 'ioredis'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { parse } from 'yaml'
import { type Reaper, startReaper } from '../../../src/dev/embedded/index.ts'
import { redisBinary } from '../../../src/dev/embedded/redis-binary.ts'
import { makeServerFolder, serverUser } from '../../../src/dev/embedded/server-user.ts'
import { portToKeep } from '../../support/port.ts'
import { eventually } from '../../support/wait.ts'

interface Service {
  command: string[]
  profiles?: string[]
  hostname?: string
  volumes?: string[]
}
const text = readFileSync('docker-compose.yml', 'utf8')
const { services, volumes }: { services: Record<string, Service>; volumes: object } = parse(text, {
  merge: true,
})
const ofProfile = (profile: string) =>
  Object.keys(services).filter((name) => services[name]?.profiles?.includes(profile))

/** Redis' own, for the messages between the nodes of a Cluster. */
const busPortAbove = 10_000

let reaper: Reaper
let folder: string
let clients: Redis[]
let containers: Map<string, ChildProcess>

beforeEach(async () => {
  reaper = startReaper()
  clients = []
  containers = new Map()
  folder = await mkdtemp(join(tmpdir(), 'profiles-'))
  await chmod(folder, 0o755)
  await mkdir(join(folder, 'bin'))
  // What the containers have, in place of their network.
  await writeProgram('docker-entrypoint.sh', 'exec "$@" --port $OWN_PORT --bind $OWN_ADDRESS --dir $OWN_DATA')
  await writeProgram('hostname', 'echo $OWN_NAME')
  await writeProgram('getent', 'echo "127.0.1.$(echo $2 | cut -d - -f 3) $2"')
})
afterEach(async () => {
  for (const client of clients) client.disconnect()
  for (const container of containers.values()) {
    if (container.exitCode !== null || container.signalCode !== null) continue
    const ended = once(container, 'exit')
    container.kill('SIGKILL')
    await ended
  }
  await rm(folder, { recursive: true })
  await reaper.close()
})

async function writeProgram(name: string, line: string): Promise<void> {
  const file = join(folder, 'bin', name)
  await writeFile(file, `#!/bin/sh\n${line}\n`)
  await chmod(file, 0o755)
}

interface Place {
  address: string
  port: number
  /** Names and ports of the network of containers, and what stands for them here. */
  here: [string, string][]
}

async function environment(name: string, { address, port }: Place) {
  const { file, env } = await redisBinary()
  const data = join(folder, name)
  await makeServerFolder(data)
  return {
    ...env,
    PATH: [join(folder, 'bin'), dirname(file), process.env.PATH].join(':'),
    OWN_NAME: services[name]?.hostname ?? name,
    OWN_ADDRESS: address,
    OWN_PORT: String(port),
    OWN_DATA: data,
  }
}

/** A service's command, as its container runs it. */
function commandOf(name: string, { here }: Place): string[] {
  const { command = [] } = services[name] ?? {}
  const inShell = command[0] === 'sh' ? command : ['docker-entrypoint.sh', ...command]
  return inShell.map((argument) =>
    here
      .reduce(
        (changed, [there, instead]) => changed.replaceAll(there, instead),
        argument.replaceAll('$$', '$'),
      )
      .replaceAll('/data', join(folder, name)),
  )
}

async function start(name: string, place: Place): Promise<Redis> {
  const [file = '', ...args] = commandOf(name, place)
  const env = await environment(name, place)
  const child = spawn(file, args, { ...serverUser(), cwd: '/', env, stdio: 'ignore' })
  reaper.watch(child.pid ?? 0, folder)
  containers.set(name, child)
  const client = new Redis({
    host: place.address,
    port: place.port,
    retryStrategy: () => 50,
    maxRetriesPerRequest: null,
  })
  client.on('error', () => {})
  clients.push(client)
  expect(await client.ping()).toBe('PONG')
  return client
}

test('the profile cluster makes a Cluster of three masters and three replicas, which clients find by name', async () => {
  const names = ofProfile('cluster').filter((name) => name.startsWith('redis-node-'))
  const port = await portToKeep(busPortAbove)
  const place = (index: number): Place => ({
    address: `127.0.1.${index + 1}`,
    port,
    here: [
      ['-h redis-node-1', `-h 127.0.1.1 -p ${port}`],
      [':6379', `:${port}`],
    ],
  })
  const nodes = await Promise.all(names.map((name, index) => start(name, place(index))))
  const makeCluster = async () => {
    const [file = '', ...args] = commandOf('redis-cluster', place(0))
    return spawnSync(file, args, { env: await environment('redis-cluster', place(0)), encoding: 'utf8' })
  }
  const made = await makeCluster()
  expect(made.stdout).toContain('[OK] All 16384 slots covered.')
  expect(made.status).toBe(0)

  const [first] = nodes as [Redis]
  await eventually('the Cluster', async () =>
    String(await first.cluster('INFO')).includes('cluster_state:ok'),
  )
  const roles = String(await first.call('CLUSTER', 'NODES')).match(/\b(master|slave)\b/g)
  expect(roles?.sort()).toEqual(['master', 'master', 'master', 'slave', 'slave', 'slave'])
  const ranges = await eventually('all names', async () => {
    const answered = await first.cluster('SLOTS')
    return answered.every(([, , master]) => names.includes(master?.[0] ?? '')) && answered
  })
  expect(ranges).toHaveLength(3)
  for (const node of nodes)
    expect(await node.config('GET', 'cluster-require-full-coverage')).toEqual([
      'cluster-require-full-coverage',
      'no',
    ])

  expect((await makeCluster()).status).toBe(0)
})

test('the profile sentinel fails over to the replica', async () => {
  const [masterPort, replicaPort, ...ports] = await Promise.all(Array.from({ length: 5 }, () => portToKeep()))
  const place = (port = 0): Place => ({
    address: '127.0.0.1',
    port,
    here: [
      ['monitor outbound redis 6379', `monitor outbound 127.0.0.1 ${masterPort}`],
      ['$(hostname)', '127.0.0.1'],
    ],
  })
  const sentinels = ofProfile('sentinel').filter((name) => name.startsWith('sentinel-'))
  expect(sentinels).toHaveLength(3)
  await start('redis', {
    ...place(masterPort),
    here: [
      ['redis', '127.0.0.1'],
      ['127.0.0.1-server', 'redis-server'],
    ],
  })
  await start('redis-replica', {
    ...place(replicaPort),
    here: [
      ['redis-replica', '127.0.0.1'],
      ['6379', String(masterPort)],
      ['redis', '127.0.0.1'],
      ['127.0.0.1-server', 'redis-server'],
    ],
  })
  const [sentinel] = await Promise.all(sentinels.map((name, index) => start(name, place(ports[index]))))
  const ask = (command: string) => (sentinel as Redis).call('SENTINEL', command, 'outbound')
  await eventually('the others', async () => {
    const [others, replicas] = await Promise.all([ask('sentinels'), ask('replicas')])
    return (others as unknown[]).length === 2 && (replicas as unknown[]).length === 1
  })
  containers.get('redis')?.kill('SIGKILL')
  await eventually(
    'the switch',
    async () => {
      const [, port] = (await ask('get-master-addr-by-name')) as [string, string]
      return Number(port) === replicaPort
    },
    60_000,
  )
})

test('each service of a profile keeps its data in a volume of its own, but the one that makes the Cluster', () => {
  const names = [...ofProfile('cluster'), ...ofProfile('sentinel')].filter((name) => name !== 'redis-cluster')
  expect(names).toHaveLength(10)
  for (const name of names) {
    expect(services[name]?.volumes).toEqual([`${name}:/data`])
    expect(volumes).toHaveProperty(name)
    expect(services[name]?.hostname).toBe(name)
  }
})

test('the URLs in the comments and the docs name services', () => {
  const docs = text + readFileSync('docs/how-to/deploy.md', 'utf8')
  const hosts = [...docs.matchAll(/redis\+(?:sentinel|cluster):\/\/([\w,-]+)/g)].flatMap(([, list = '']) =>
    list.split(','),
  )
  expect(hosts).toHaveLength(12)
  for (const host of hosts) expect(services).toHaveProperty(host)
})
