import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { closeSync, openSync, readFileSync } from 'node:fs'
import { chmod, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { Redis } from 'ioredis'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { parse } from 'yaml'
import { busPortAbove, type Reaper, startReaper } from '../../../src/dev/embedded/index.ts'
import { redisBinary } from '../../../src/dev/embedded/redis-binary.ts'
import { makeServerFolder, serverUser } from '../../../src/dev/embedded/server-user.ts'
import { portToKeep } from '../../support/port.ts'
import { eventually } from '../../support/wait.ts'

const password = 'of-the-test'

interface Service {
  command: string[]
  profiles?: string[]
  hostname?: string
  volumes?: string[]
}
const composeText = readFileSync('docker-compose.yml', 'utf8')
const { services, volumes }: { services: Record<string, Service>; volumes: object } = parse(composeText, {
  merge: true,
})
const ofProfile = (profile: string) =>
  Object.keys(services).filter((name) => services[name]?.profiles?.includes(profile))

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
  // Programs of the containers, changed to need no network of their own.
  const { file } = await redisBinary()
  await writeProgram('redis-server', `exec ${file} "$@"`)
  await writeProgram('redis-cli', `exec ${file.replace('-server', '-cli')} -p $OWN_PORT "$@"`)
  const addresses = '--bind $OWN_ADDRESS --bind-source-addr $OWN_ADDRESS'
  await writeProgram('docker-entrypoint.sh', `exec "$@" --port $OWN_PORT ${addresses} --dir $OWN_DATA`)
  await writeProgram('hostname', 'echo $OWN_NAME')
})
afterEach(async () => {
  for (const client of clients) client.disconnect()
  await Promise.all([...containers.keys()].map(kill))
  await rm(folder, { recursive: true })
  await reaper.close()
})

async function kill(name: string): Promise<void> {
  const container = containers.get(name)
  if (!container || container.exitCode !== null || container.signalCode !== null) return
  const ended = once(container, 'exit')
  container.kill('SIGKILL')
  await ended
}

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
  const { env } = await redisBinary()
  const data = join(folder, name)
  await makeServerFolder(data)
  return {
    ...env,
    REDISCLI_AUTH: password,
    PATH: [join(folder, 'bin'), process.env.PATH].join(':'),
    OWN_NAME: services[name]?.hostname ?? name,
    OWN_ADDRESS: address,
    OWN_PORT: String(port),
    OWN_DATA: data,
  }
}

/** A service's command, as its container runs it. */
function commandOf(name: string, { here }: Place): string[] {
  const { command = [] } = services[name] ?? {}
  const isScript = command[0] === 'sh'
  const placed = command.map((argument) => {
    if (!isScript) return new Map(here).get(argument) ?? argument.replace(/\$\{REDIS_PASSWORD\}/, password)
    const script = argument.replaceAll('$$', '$').replaceAll('/data', join(folder, name))
    return here.reduce((changed, [there, instead]) => changed.replaceAll(there, instead), script)
  })
  return isScript ? placed : ['docker-entrypoint.sh', ...placed]
}

async function start(name: string, place: Place): Promise<Redis> {
  const [file = '', ...args] = commandOf(name, place)
  const env = await environment(name, place)
  const logFile = join(folder, `${name}.log`)
  const log = openSync(logFile, 'a')
  const child = spawn(file, args, { ...serverUser(), cwd: '/', env, stdio: ['ignore', log, log] })
  closeSync(log)
  reaper.watch(child.pid ?? 0, folder)
  containers.set(name, child)
  const client = new Redis({
    host: place.address,
    port: place.port,
    password,
    retryStrategy: () => 50,
    maxRetriesPerRequest: null,
  })
  client.on('error', () => {})
  clients.push(client)
  const ended = once(child, 'exit').then(() => readFileSync(logFile, 'utf8'))
  expect(await Promise.race([client.ping(), ended])).toBe('PONG')
  return client
}

/** Runs a service that ends. @returns what it printed. */
async function run(name: string, place: Place): Promise<string> {
  const [file = '', ...args] = commandOf(name, place)
  const env = await environment(name, place)
  const child = spawn(file, args, { env, stdio: ['ignore', 'pipe', 'pipe'], timeout: 200_000 })
  const [printed, errors, [code]] = await Promise.all([
    text(child.stdout),
    text(child.stderr),
    once(child, 'exit'),
  ])
  expect(code, printed + errors).toBe(0)
  return printed
}

describe('the profile cluster', () => {
  const names = ofProfile('cluster').filter((name) => name.startsWith('redis-node-'))

  /** The nodes and the service that joins them, in a network with these addresses. */
  async function joined(network: string, port: number) {
    await writeProgram('getent', `echo "${network}.$(echo $2 | cut -d - -f 3) $2"`)
    const place = (address: string): Place => ({ address, port, here: [['6379', String(port)]] })
    const nodes = await Promise.all(names.map((name, index) => start(name, place(`${network}.${index + 1}`))))
    const printed = await run('redis-cluster', place(network))
    await eventually('the Cluster', async () => {
      const states = await Promise.all(nodes.map(async (node) => String(await node.cluster('INFO'))))
      return states.every((state) => state.includes('cluster_state:ok'))
    })
    return { nodes, printed }
  }

  test('makes a Cluster of three masters and three replicas, which clients find by name', async () => {
    const { nodes, printed } = await joined('127.0.1', await portToKeep(busPortAbove))
    expect(printed).toContain('[OK] All 16384 slots covered.')
    const [first] = nodes as [Redis]
    await eventually('three replicas', async () => {
      const roles = String(await first.call('CLUSTER', 'NODES')).match(/\b(master|slave)\b/g)
      return roles?.sort().join(' ') === 'master master master slave slave slave'
    })
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
  })

  test('is the same Cluster after all nodes were restarted and have other addresses', async () => {
    const port = await portToKeep(busPortAbove)
    const before = await joined('127.0.1', port)
    const [first] = before.nodes as [Redis]
    const id = await first.call('CLUSTER', 'MYID')
    await Promise.all(names.map(kill))

    const after = await joined('127.0.2', port)
    expect(after.printed).not.toContain('slots covered')
    const [again] = after.nodes as [Redis]
    expect(await again.call('CLUSTER', 'MYID')).toBe(id)
    await eventually('the new addresses', async () => {
      const known = await Promise.all(
        after.nodes.map(async (node) => String(await node.call('CLUSTER', 'NODES'))),
      )
      return known.every((nodes) => nodes.match(/ 127\.0\.2\.\d:/g)?.length === names.length)
    })
  })
})

test('the profile sentinel fails over to the replica', async () => {
  const [masterPort = 0, replicaPort = 0, ...ports] = await Promise.all(
    Array.from({ length: 5 }, () => portToKeep()),
  )
  const address = '127.0.0.1'
  const store = (port: number): Place => ({
    address,
    port,
    here: [
      ['redis', address],
      ['redis-replica', address],
      ['6379', String(masterPort)],
    ],
  })
  const sentinelAt = (port = 0): Place => ({
    address,
    port,
    here: [
      ['monitor outbound redis 6379', `monitor outbound ${address} ${masterPort}`],
      ['$(hostname)', address],
    ],
  })
  const sentinels = ofProfile('sentinel').filter((name) => name.startsWith('sentinel-'))
  expect(sentinels).toHaveLength(3)
  await start('redis', store(masterPort))
  await start('redis-replica', store(replicaPort))
  const [sentinel] = await Promise.all(sentinels.map((name, index) => start(name, sentinelAt(ports[index]))))
  const ask = (command: string) => (sentinel as Redis).call('SENTINEL', command, 'outbound')
  await eventually('the others', async () => {
    const [others, replicas] = await Promise.all([ask('sentinels'), ask('replicas')])
    return (others as unknown[]).length === 2 && (replicas as unknown[]).length === 1
  })
  await kill('redis')
  await eventually('the switch', async () => {
    const [, port] = (await ask('get-master-addr-by-name')) as [string, string]
    return Number(port) === replicaPort
  })
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
  const docs = composeText + readFileSync('docs/how-to/deploy.md', 'utf8')
  const hosts = [
    ...docs.matchAll(/redis\+(?:sentinel|cluster):\/\/:\$\{REDIS_PASSWORD\}@([\w,-]+)/g),
  ].flatMap(([, list = '']) => list.split(','))
  expect(hosts).toHaveLength(12)
  for (const host of hosts) expect(services).toHaveProperty(host)
})
