import { readFileSync } from 'node:fs'
import pg from 'pg'
import { expect, test } from 'vitest'
import { databaseCause, ReadOnlyFault } from '../../../db/connection/database-cause.ts'
import { DatabaseFault } from '../../../db/connection/session.ts'
import { postgresCauses, redisCauses } from '../../../src/core/store-causes.ts'
import { DeadlinePassed } from '../../../src/platform/deadline.ts'
import { redisCause } from '../../../src/platform/redis/cause.ts'

const coded = (code: string, message = '') => Object.assign(new Error(message), { code })
const ofFile = Object.assign(coded('ENOENT'), { path: '/etc/ca.pem', syscall: 'open' })
const answered = (code: string, message = 'refused') =>
  Object.assign(new pg.DatabaseError(message, 1, 'error'), { code })

test.each<[string, Error]>([
  ['unreachable', coded('ECONNREFUSED')],
  ['unreachable', coded('ECONNRESET')],
  ['unreachable', answered('08006')],
  ['unreachable', new Error('Connection terminated unexpectedly')],
  ['unknown_host', coded('ENOTFOUND')],
  ['unknown_host', coded('EAI_AGAIN')],
  ['timeout', new Error('Query read timeout')],
  ['timeout', new Error('timeout exceeded when trying to connect')],
  ['timeout', new Error('Connection terminated due to connection timeout')],
  ['timeout', coded('ETIMEDOUT')],
  ['timeout', answered('57014')],
  ['starting', answered('57P03')],
  ['starting', answered('57P01')],
  ['read_only', new ReadOnlyFault()],
  ['read_only', answered('25006')],
  ['disk_full', answered('53100')],
  ['short_of_resources', answered('53200')],
  ['too_many_connections', answered('53300')],
  ['login_refused', answered('28P01')],
  ['login_refused', answered('28000')],
  [
    'login_refused',
    answered('28000', 'no pg_hba.conf entry for host "::1", user "a", database "b", SSL encryption'),
  ],
  ['login_refused', new Error('SASL: SCRAM-SERVER-FIRST-MESSAGE: client password must be a string')],
  [
    'tls_required',
    answered('28000', 'no pg_hba.conf entry for host "::1", user "a", database "b", no encryption'),
  ],
  ['no_database', answered('3D000')],
  ['no_permission', answered('42501')],
  ['not_migrated', answered('42P01')],
  ['certificate_untrusted', coded('DEPTH_ZERO_SELF_SIGNED_CERT')],
  ['certificate_untrusted', coded('SELF_SIGNED_CERT_IN_CHAIN')],
  ['certificate_untrusted', coded('UNABLE_TO_VERIFY_LEAF_SIGNATURE')],
  ['certificate_of_other_host', coded('ERR_TLS_CERT_ALTNAME_INVALID')],
  ['certificate_expired', coded('CERT_HAS_EXPIRED')],
  ['certificate_not_yet_valid', coded('CERT_NOT_YET_VALID')],
  ['no_tls', new Error('The server does not support SSL connections')],
  ['tls_failed', coded('ERR_SSL_WRONG_VERSION_NUMBER')],
  ['pooler', answered('26000')],
  ['process_short_of_files', coded('EMFILE')],
  ['unfit', new DatabaseFault('DATABASE_URL: PostgreSQL 9 is too old; use another')],
])('PostgreSQL: %s is the cause of %o', (name, error) => {
  expect(databaseCause(error)?.cause).toBe(name)
})

test.each([answered('42703'), answered('23505'), answered('22P02'), ofFile, new TypeError('x is undefined')])(
  'PostgreSQL is not at fault for %o',
  (error) => {
    expect(databaseCause(error)).toBeUndefined()
  },
)

const reply = (message: string, name = 'get') =>
  Object.assign(new Error(message), { name: 'ReplyError', command: { name } })

test.each<[string, Error]>([
  ['unreachable', coded('ECONNREFUSED')],
  ['unreachable', new Error('Connection is closed.')],
  ['unknown_host', coded('ENOTFOUND')],
  ['timeout', new Error('Command timed out')],
  ['timeout', new DeadlinePassed('Redis')],
  ['timeout', new Error('Redis accepts connections, but does not answer')],
  ['starting', reply('LOADING Redis is loading the dataset in memory')],
  ['read_only', reply("READONLY You can't write against a read only replica.")],
  [
    'disk_full',
    reply("MISCONF Redis is configured to save RDB snapshots, but it's unable to persist to disk."),
  ],
  ['out_of_memory', reply("OOM command not allowed when used memory > 'maxmemory'.", 'evalsha')],
  ['too_few_replicas', reply('NOREPLICAS Not enough good replicas to write.')],
  ['no_master', reply('CLUSTERDOWN The cluster is down')],
  ['too_many_connections', reply('ERR max number of clients reached')],
  ['login_refused', reply('NOAUTH Authentication required.')],
  ['login_refused', reply('WRONGPASS invalid username-password pair or user is disabled.', 'auth')],
  ['login_refused', reply('DENIED Redis is running in protected mode')],
  ['no_database', reply('ERR DB index is out of range', 'select')],
  ['no_permission', reply("NOPERM this user has no permissions to run the 'eval' command", 'eval')],
  ['no_permission', reply("NOPERM this user has no permissions to run the 'select' command", 'select')],
  ['certificate_untrusted', coded('SELF_SIGNED_CERT_IN_CHAIN')],
  ['certificate_of_other_host', coded('ERR_TLS_CERT_ALTNAME_INVALID')],
  ['certificate_expired', coded('CERT_HAS_EXPIRED')],
  ['certificate_not_yet_valid', coded('CERT_NOT_YET_VALID')],
  ['tls_failed', coded('ERR_SSL_WRONG_VERSION_NUMBER')],
])('Redis: %s is the cause of %o', (name, error) => {
  expect(redisCause(error).cause).toBe(name)
})

const all = [...Object.values(postgresCauses), ...Object.values(redisCauses)]

test.each(all)('$cause: "$problem" is one line that says what to do', ({ cause, problem, advice }) => {
  expect(cause).toMatch(/^[a-z_]+$/)
  expect(problem).toMatch(/\b(PostgreSQL|Redis|pooler)\b/)
  expect(`${problem}; ${advice}`).not.toMatch(/\n|[.;] *$/)
  expect(advice).toMatch(/^[a-z]/)
})

test.each(all.filter(({ cause }) => cause !== 'certificate_expired'))(
  '$cause: nobody is told to renew a certificate that has not expired',
  ({ advice }) => {
    expect(advice).not.toContain('renew')
  },
)

test.each([
  ['PostgreSQL', postgresCauses],
  ['Redis', redisCauses],
])('the docs list each cause of %s, in the words of the code', (store, causes) => {
  const section = readFileSync('docs/reference/store-causes.md', 'utf8').split(`\n## ${store}\n`)[1]
  const rows = section?.split('\n## ')[0]?.match(/^\| `(?!cause`|unfit`).*$/gm)
  const expected = Object.values(causes).map((one) => `| \`${one.cause}\` | ${one.problem} | ${one.advice} |`)
  expect(rows).toEqual(expected)
})

test('a command on a closed connection fails for the cause that closed it', () => {
  const closed = new Error("Stream isn't writeable and enableOfflineQueue options is false")
  expect(redisCause(closed, redisCauses.read_only)).toBe(redisCauses.read_only)
  expect(redisCause(coded('ECONNREFUSED'), redisCauses.read_only)).toBe(redisCauses.unreachable)
})
