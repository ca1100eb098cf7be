import { cutPassword, hasCutPassword, parseUrl } from '../../core/requests/parse-url.ts'

/** The host and port of one server. */
export interface RedisNode {
  host: string
  port: number
}

interface Login {
  username?: string
  password?: string
}

/** The settings that several servers have in common. */
interface Shared {
  login: Login
  hasTls: boolean
}

/** The servers that REDIS_URL names: one Redis, the Sentinels that know the master, or some nodes of a Cluster. */
export type RedisAddress = {
  /** How long an API or an admin process waits for an answer. Absent if the URL sets no time. */
  commandTimeoutMs?: number
} & (
  | { kind: 'single'; url: string }
  | (Shared & {
      kind: 'sentinel'
      sentinels: RedisNode[]
      sentinelLogin: Login
      master: string
      database: number
    })
  | (Shared & { kind: 'cluster'; nodes: RedisNode[] })
)

type Several = 'sentinel' | 'cluster'

const examples = {
  single: 'redis://localhost:6379',
  sentinel: 'redis+sentinel://host1:26379,host2:26379,host3:26379/mymaster',
  cluster: 'redis+cluster://host1:6379,host2:6379,host3:6379',
}
const defaultPorts = { sentinel: 26_379, cluster: 6379 }
const options = {
  sentinel: ['commandTimeout', 'sentinelUsername', 'sentinelPassword'],
  cluster: ['commandTimeout'],
}

/** A URL with a list of hosts, which `new URL` refuses. */
const severalHosts =
  /^(?<scheme>rediss?)\+(?<kind>sentinel|cluster):\/\/((?<username>[^:@/?#]*)(:(?<password>[^@/?#]*))?@)?(?<hosts>[^@/?#]*)(?<path>\/[^?#]*)?(?<query>\?[^#]*)?$/
const hostAndPort = /^(?<host>\[[\da-f:.]+\]|[^:[\]\s]+)(:(?<port>\d{1,5}))?$/i

/** @throws RangeError that says what is wrong with the URL, with an example of a right one, and repeats nothing of it. */
export function parseRedisUrl(text: string): RedisAddress {
  const parts = severalHosts.exec(text)?.groups
  if (!parts) return parseSingle(text)
  const kind = parts.kind as Several
  const nodes = (parts.hosts ?? '').split(',').map((node, index) => parseNode(node, index, kind))
  const query = parseQuery(parts.query, kind)
  const login = loginOf(parts.username, parts.password, kind)
  const shared = { login, hasTls: parts.scheme === 'rediss', ...timeoutIn(query) }
  const [master = '', database = '0', ...rest] = (parts.path ?? '').split('/').slice(1)
  if (kind === 'cluster') {
    if (master !== '') throw wrong('has to end after the hosts: a Cluster has no databases', kind)
    return { ...shared, kind, nodes }
  }
  if (master === '') throw wrong('has to name the master after the hosts', kind)
  if (!/^\d{1,4}$/.test(database) || rest.length > 0)
    throw wrong('has to end with the master or its database', kind)
  if (query.has('sentinelUsername') && !query.has('sentinelPassword'))
    throw wrong('has a sentinelUsername without a sentinelPassword', kind)
  const sentinelLogin = query.has('sentinelPassword')
    ? clean({ username: query.get('sentinelUsername'), password: query.get('sentinelPassword') })
    : login
  return {
    ...shared,
    kind,
    sentinels: nodes,
    sentinelLogin,
    master: decode(master, kind),
    database: Number(database),
  }
}

function parseSingle(text: string): RedisAddress {
  const url = parseUrl(text)
  const { protocol, hostname, searchParams } = url ?? {}
  if ((protocol !== 'redis:' && protocol !== 'rediss:') || !searchParams || hostname?.includes(',')) {
    const kind = (['cluster', 'sentinel'] as const).find((one) => text.includes(`+${one}:`)) ?? 'single'
    throw wrong('has to be a URL', kind)
  }
  if (url && hasCutPassword(url)) throw wrong(cutPassword, 'single')
  loginOf(url?.username, url?.password, 'single')
  return { kind: 'single', url: text, ...timeoutIn(searchParams) }
}

function parseNode(text: string, index: number, kind: Several): RedisNode {
  const { host, port = defaultPorts[kind] } = hostAndPort.exec(text)?.groups ?? {}
  if (!host || Number(port) < 1 || Number(port) > 65_535)
    throw wrong(`has no host and port at number ${index + 1} of the list`, kind)
  return { host: host.replace(/^\[|\]$/g, ''), port: Number(port) }
}

function parseQuery(query: string | undefined, kind: Several): URLSearchParams {
  const parameters = new URLSearchParams(query)
  for (const name of parameters.keys())
    if (!options[kind].includes(name))
      throw wrong(`may have no other option after the ? than ${options[kind].join(', ')}`, kind)
  return parameters
}

function timeoutIn(query: URLSearchParams): { commandTimeoutMs?: number } {
  const commandTimeoutMs = Number(query.get('commandTimeout'))
  return commandTimeoutMs > 0 ? { commandTimeoutMs } : {}
}

function loginOf(username = '', password = '', kind: keyof typeof examples): Login {
  return clean({ username: decode(username, kind), password: decode(password, kind) })
}

/** Without what is empty: Redis takes an empty user name for one. */
function clean(login: { username: string | null; password: string | null }): Login {
  return {
    ...(login.username && { username: login.username }),
    ...(login.password && { password: login.password }),
  }
}

function decode(text: string, kind: keyof typeof examples): string {
  try {
    return decodeURIComponent(text)
  } catch {
    throw wrong('has a % that is no escape: write it as %25', kind)
  }
}

function wrong(what: string, kind: keyof typeof examples): RangeError {
  return new RangeError(`${what}, e.g. ${examples[kind]}`)
}
