import { parseUrl } from '../core/parse-url.ts'

/** The host and port of one server. */
export interface RedisNode {
  host: string
  port: number
}

/** What several servers have in common. */
interface Shared {
  username?: string
  password?: string
  hasTls: boolean
  /** Options after the question mark, such as `commandTimeout`. */
  options: Record<string, string>
}

/** The servers that REDIS_URL names: one Redis, the Sentinels that know the master, or some nodes of a Cluster. */
export type RedisAddress =
  | { kind: 'single'; url: string }
  | (Shared & { kind: 'sentinel'; sentinels: RedisNode[]; master: string; database: number })
  | (Shared & { kind: 'cluster'; nodes: RedisNode[] })

const examples = {
  single: 'redis://localhost:6379',
  sentinel: 'redis+sentinel://host1:26379,host2:26379,host3:26379/mymaster',
  cluster: 'redis+cluster://host1:6379,host2:6379,host3:6379',
}
const defaultPorts = { sentinel: 26_379, cluster: 6379 }

/** A URL with a list of hosts, which `new URL` refuses. */
const severalHosts =
  /^(?<scheme>rediss?)\+(?<kind>sentinel|cluster):\/\/((?<username>[^:@/?#]*)(:(?<password>[^@/?#]*))?@)?(?<hosts>[^@/?#]*)(?<path>\/[^?#]*)?(?<query>\?[^#]*)?$/
const hostAndPort = /^(?<host>\[[\da-f:.]+\]|[^:[\]\s]+)(:(?<port>\d{1,5}))?$/i

/** @throws RangeError that says what is wrong with the URL, with an example of a right one. */
export function parseRedisUrl(text: string): RedisAddress {
  const parts = severalHosts.exec(text)?.groups
  if (!parts) return parseSingle(text)
  const kind = parts.kind as 'sentinel' | 'cluster'
  const nodes = (parts.hosts ?? '').split(',').map((node) => parseNode(node, kind))
  const shared: Shared = {
    ...(parts.username && { username: decode(parts.username, kind) }),
    ...(parts.password && { password: decode(parts.password, kind) }),
    hasTls: parts.scheme === 'rediss',
    options: Object.fromEntries(new URLSearchParams(parts.query)),
  }
  const [master = '', database = '0', ...rest] = (parts.path ?? '').split('/').slice(1)
  if (kind === 'cluster') {
    if (master !== '') throw wrong('a Cluster has no databases: end it after the hosts', kind)
    return { ...shared, kind, nodes }
  }
  if (master === '') throw wrong('has to name the master after the hosts', kind)
  if (!/^\d{1,4}$/.test(database) || rest.length > 0) throw wrong('has to end with the master or its database', kind)
  return { ...shared, kind, sentinels: nodes, master: decode(master, kind), database: Number(database) }
}

function parseSingle(text: string): RedisAddress {
  const { protocol, hostname } = parseUrl(text) ?? {}
  if ((protocol !== 'redis:' && protocol !== 'rediss:') || hostname?.includes(',')) {
    throw wrong('has to be a URL', /\+cluster:/.test(text) ? 'cluster' : /\+sentinel:/.test(text) ? 'sentinel' : 'single')
  }
  return { kind: 'single', url: text }
}

function parseNode(text: string, kind: 'sentinel' | 'cluster'): RedisNode {
  const { host, port = defaultPorts[kind] } = hostAndPort.exec(text)?.groups ?? {}
  if (!host || Number(port) < 1 || Number(port) > 65_535) throw wrong(`has no host and port where it says "${text}"`, kind)
  return { host: host.replace(/^\[|\]$/g, ''), port: Number(port) }
}

function decode(text: string, kind: 'sentinel' | 'cluster'): string {
  try {
    return decodeURIComponent(text)
  } catch {
    throw wrong('has a % that is no escape: write %25', kind)
  }
}

function wrong(what: string, kind: keyof typeof examples): RangeError {
  return new RangeError(`${what}, e.g. ${examples[kind]}`)
}
