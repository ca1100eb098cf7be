import { accessSync, constants } from 'node:fs'

/** libpq's modes, except `allow` and `prefer`: those would connect without TLS if an attacker in between refuses it. */
const sslModes = ['disable', 'require', 'verify-ca', 'verify-full']
const files = ['sslrootcert', 'sslcert', 'sslkey']
/** libpq's name for the machine's known CAs; here those of Node.js. As in libpq, it requires `verify-full`. */
const system = 'system'

/** What is wrong with the TLS parameters of a PostgreSQL URL; undefined if nothing is. */
export function sslIssue(url: string): string | undefined {
  const { searchParams } = new URL(url)
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

/** Converts a PostgreSQL URL for node-postgres, which by itself treats `sslmode=require` like `verify-full`. */
export function connectionString(url: string): string {
  const parsed = new URL(url)
  const { searchParams } = parsed
  if (searchParams.get('sslrootcert') === system) {
    searchParams.delete('sslrootcert')
    searchParams.set('sslmode', 'verify-full')
  }
  if (!searchParams.has('sslmode')) return url
  searchParams.set('uselibpqcompat', 'true')
  return parsed.href
}
