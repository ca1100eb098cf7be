import { accessSync, constants } from 'node:fs'
import pg from 'pg'
import { cutPassword, hasCutPassword, parseUrl } from '../../src/core/requests/parse-url.ts'
import { isLoopback } from '../../src/core/requests/public-address.ts'

/** libpq's modes, except `allow` and `prefer`: those would connect without TLS if an attacker in between refuses it. */
const sslModes = ['disable', 'require', 'verify-ca', 'verify-full']
const files = ['sslrootcert', 'sslcert', 'sslkey']
/** libpq's name for the machine's known CAs; here those of Node.js. As in libpq, it requires `verify-full`. */
const system = 'system'

/** A URL with a user but no host, as in `postgres://user:password@/db?host=/socket`. */
const withoutHost = /^(postgres(?:ql)?:\/\/[^/?#]*@)(?=[/?]|:\d|$)/i

/** Undefined if it is no URL. The parameter `host` names the folder of a Unix socket, and has precedence over the host. */
function parse(url: string): URL | undefined {
  return parseUrl(url.replace(withoutHost, '$1localhost'))
}

/**
 * The fault of a PostgreSQL URL; undefined if it has none. It repeats nothing of the URL, and refuses one that would be read
 * with a piece of the password as its host, port or database, which error messages name.
 */
export function databaseUrlIssue(url: string): string | undefined {
  const parsed = parse(url)
  if (!parsed || !['postgres:', 'postgresql:'].includes(parsed.protocol))
    return `has to be a URL, e.g. ${example}`
  if (hasCutPassword(parsed)) return cutPassword
  const issue = sslIssue(parsed)
  if (issue !== undefined) return issue
  if (unreadableEscapes.test(url.match(databaseName)?.[0] ?? ''))
    return 'names a database with ? or #, which node-postgres cannot read; rename it'
  try {
    new pg.Client({ connectionString: connectionString(url) })
    return undefined
  } catch {
    return 'has a % that is no escape: write it as %25'
  }
}

export const example = 'postgres://user:password@localhost:5432/outbound'

function sslIssue({ searchParams }: URL): string | undefined {
  const mode = searchParams.get('sslmode')
  if (mode !== null && !sslModes.includes(mode))
    return `has an unknown sslmode; set it to one of ${sslModes.join(', ')}`
  if (mode !== null && mode !== 'verify-full' && searchParams.get('sslrootcert') === system)
    return 'has sslrootcert=system, which requires sslmode=verify-full; set that, or sslrootcert=FILE'
  const unreadable = files.find((name) => !isReadable(searchParams.get(name)))
  if (unreadable) return `has an ${unreadable} that can't be read; set it to a readable file`
  if (mode === 'verify-ca' && !searchParams.has('sslrootcert'))
    return 'has sslmode=verify-ca without a CA; add sslrootcert=FILE, or set sslmode=verify-full'
  return undefined
}

function isReadable(file: string | null): boolean {
  if (file === null || file === system) return true
  try {
    accessSync(file, constants.R_OK)
    return true
  } catch {
    return false
  }
}

/** Escapes that node-postgres leaves in a database's name. libpq decodes them, as in `…/a%2Fb`. */
const reservedEscapes = /%(2F|3A|3B|40|26|3D|2B|24|2C)/gi
/** Escapes of `?` and `#`: node-postgres leaves them, and decoded they would end the name. */
const unreadableEscapes = /%(3F|23)/i
const databaseName = /(?<=^postgres(?:ql)?:\/\/[^/?#]*\/)[^?#]+/i

/** Converts a PostgreSQL URL for node-postgres, which by itself treats `sslmode=require` like `verify-full`. */
export function connectionString(given: string): string {
  const url = given.replace(databaseName, (name) =>
    name.replace(reservedEscapes, (part) => decodeURIComponent(part)),
  )
  const parsed = parse(url)
  if (!parsed) throw new Error('DATABASE_URL is no URL')
  const { searchParams } = parsed
  if (searchParams.get('sslrootcert') === system) {
    searchParams.delete('sslrootcert')
    searchParams.set('sslmode', 'verify-full')
  }
  if (!searchParams.has('sslmode')) return url.replace(withoutHost, '$1localhost')
  searchParams.set('uselibpqcompat', 'true')
  return parsed.href
}

/** The protection of a store from others. */
export interface Protection {
  /** Whether the way to it leaves this machine. */
  isRemote: boolean
  hasTls: boolean
  /** Whether it asks who connects. */
  hasLogin: boolean
}

/** The protection that a PostgreSQL URL asks for; undefined if it is no URL. A Unix socket needs no TLS. */
export function protectionOfDatabase(url: string): Protection | undefined {
  const parsed = parse(url)
  if (!parsed) return undefined
  const { hostname, password, searchParams } = parsed
  const host = searchParams.get('host') || hostname
  const isSocket = /^(\/|%2F)/i.test(host)
  const mode = searchParams.get('sslmode')
  return {
    isRemote: !isSocket && !isLoopback(host),
    hasTls: isSocket || (mode === null ? files.some((name) => searchParams.has(name)) : mode !== 'disable'),
    hasLogin: password !== '' || searchParams.has('password') || searchParams.has('sslcert'),
  }
}
