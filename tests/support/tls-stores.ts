import { chmod, chown, mkdir, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { Redis } from 'ioredis'
import pg from 'pg'
import { v7 as uuidv7 } from 'uuid'
import { migrateDatabase } from '../../db/migrate.ts'
import { dataFolder, startPostgres, startReaper, startRedis } from '../../src/dev/embedded/index.ts'
import { serverUser } from '../../src/dev/embedded/server-user.ts'
import { cert, key } from './certificate.ts'
import { portToKeep } from './port.ts'
import { eventually } from './wait.ts'

/** A PostgreSQL and a Redis that take TLS, with a certificate that is its own CA, and is for 0.0.0.0 alone. */
export interface TlsStores {
  /** At 127.0.0.1, without parameters. */
  databaseUrl: string
  /** At 0.0.0.0, for which the certificate is. */
  redisUrl: string
  /** The file of the CA's certificate. */
  caFile: string
  stop(): Promise<void>
}

export async function startTlsStores(): Promise<TlsStores> {
  const folder = await dataFolder(`tls-${uuidv7()}`)
  const reaper = startReaper()
  const common = { reaper, folderToRemove: folder }
  const [postgres, redis] = await Promise.all([
    startPostgres({ ...common, folder: join(folder, 'postgres') }),
    startRedis({ ...common, folder: join(folder, 'redis') }),
  ])
  const files = await writeCertificate(join(folder, 'certificate'))
  await migrateDatabase(postgres.url)
  await demandTls(postgres.url, files)
  return {
    databaseUrl: postgres.url,
    redisUrl: await takeTls(redis.url, files),
    caFile: files.cert,
    async stop() {
      await Promise.all([postgres.stop(), redis.stop()])
      await rm(folder, { recursive: true, force: true })
      await reaper.close()
    },
  }
}

interface Files {
  cert: string
  key: string
}

/** The servers' user has to own the key, and other users must not be able to read it. */
async function writeCertificate(folder: string): Promise<Files> {
  await mkdir(folder)
  const files = { cert: join(folder, 'cert.pem'), key: join(folder, 'key.pem') }
  await writeFile(files.cert, cert)
  await writeFile(files.key, key, { mode: 0o600 })
  await chmod(files.cert, 0o644)
  const { uid, gid } = serverUser()
  if (uid !== undefined && gid !== undefined) await chown(files.key, uid, gid)
  return files
}

async function demandTls(url: string, files: Files): Promise<void> {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  await client.query(`alter system set ssl_cert_file = '${files.cert}'`)
  await client.query(`alter system set ssl_key_file = '${files.key}'`)
  await client.query('alter system set ssl = on')
  await client.query('select pg_reload_conf()')
  await eventually('TLS', async () => (await client.query('show ssl')).rows[0].ssl === 'on')
  await client.end()
}

async function takeTls(url: string, files: Files): Promise<string> {
  const redis = new Redis(url)
  const port = await portToKeep()
  const settings = { 'tls-cert-file': files.cert, 'tls-key-file': files.key, 'tls-ca-cert-file': files.cert }
  const all = { ...settings, 'tls-auth-clients': 'no', 'tls-port': String(port) }
  await redis.call('CONFIG', 'SET', ...Object.entries(all).flat())
  redis.disconnect()
  return `rediss://0.0.0.0:${port}`
}
