/** Why PostgreSQL or Redis can't be used: one object from the driver's error to `/readyz`, log, CLI, console, metrics and alerts. */
export interface StoreCause {
  /** From a fixed list, so that it can be the label of a metric: the field `cause` of log lines. */
  cause: string
  problem: string
  /** Logged as the field `check`. */
  advice: string
}

/** The cause as one line. */
export const causeLine = ({ problem, advice }: StoreCause): string => `${problem}; ${advice}`

type Words = readonly [problem: string, advice: string]

/** The causes of PostgreSQL: docs/reference/store-causes.md. */
const ofPostgres = {
  unreachable: ['PostgreSQL does not answer', 'check DATABASE_URL and that it runs'],
  unknown_host: [
    "PostgreSQL's host name can't be resolved",
    'check the host in DATABASE_URL, and the name servers',
  ],
  timeout: [
    'PostgreSQL does not answer in time',
    'look at its load, its locks and its disk, and at the network to it',
  ],
  starting: [
    'PostgreSQL is starting up or shutting down',
    'wait for it, and look at its log if that takes long',
  ],
  read_only: [
    'PostgreSQL takes no writes: this is a standby, or default_transaction_read_only is on',
    'let DATABASE_URL lead to the primary, or turn that setting off',
  ],
  disk_full: ["PostgreSQL's disk is full", 'free space on it, or enlarge it'],
  short_of_resources: [
    'PostgreSQL is short of memory, or beyond one of its limits',
    'look at its log, and give it more',
  ],
  too_many_connections: [
    'PostgreSQL has no connection left',
    'raise max_connections there, or lower DATABASE_POOL_SIZE or the number of processes',
  ],
  login_refused: [
    'PostgreSQL refuses the login',
    'check user name and password in DATABASE_URL, and pg_hba.conf there',
  ],
  no_database: [
    'PostgreSQL has no database of this name',
    'create it, or correct the name at the end of DATABASE_URL',
  ],
  no_permission: [
    'PostgreSQL denies a permission to the user in DATABASE_URL',
    'grant it connect on the database, usage of the schema public, and select, insert, update and delete on its tables',
  ],
  not_migrated: ['PostgreSQL lacks migrations of this release', 'run migrate'],
  certificate_untrusted: [
    "PostgreSQL's certificate is signed by an unknown CA",
    "add sslrootcert=FILE with that CA's certificate to DATABASE_URL, or set NODE_EXTRA_CA_CERTS",
  ],
  certificate_of_other_host: [
    "PostgreSQL's certificate is for another host name",
    'use the name it is for in DATABASE_URL, or sslmode=verify-ca with sslrootcert=FILE',
  ],
  certificate_expired: ["PostgreSQL's certificate has expired", 'renew it'],
  certificate_not_yet_valid: [
    "PostgreSQL's certificate is not valid yet",
    "set this machine's clock right, or wait until it is valid",
  ],
  no_tls: [
    'PostgreSQL does not support TLS',
    'turn it on there (ssl = on), or remove sslmode from DATABASE_URL',
  ],
  tls_required: [
    'PostgreSQL accepts this user only with TLS',
    'add sslmode=verify-full, or sslmode=require, to DATABASE_URL',
  ],
  tls_failed: ['TLS with PostgreSQL fails', 'compare the TLS versions of both, and what stands in between'],
  pooler: [
    'A pooler mixes up prepared statements',
    'set max_prepared_statements = 200 in PgBouncer 1.21 or later, or pool_mode = session',
  ],
  process_stood_still: [
    'PostgreSQL ended a transaction of this process, which stood still',
    'look at the CPU and the memory of its machine',
  ],
  process_short_of_files: [
    'This process has no file or port left for a connection to PostgreSQL',
    'raise its limit of open files (ulimit -n)',
  ],
  server_fault: ['PostgreSQL answers with a fault of its own', "look at PostgreSQL's log"],
} satisfies Record<string, Words>

/** The causes of Redis: docs/reference/store-causes.md. */
const ofRedis = {
  unreachable: ['Redis does not answer', 'check REDIS_URL, and that Redis runs'],
  unknown_host: ["Redis's host name can't be resolved", 'check the host in REDIS_URL, and the name servers'],
  timeout: [
    'Redis does not answer in time',
    'look at its CPU, its SLOWLOG and the network to it, and use rediss:// only at a port that takes TLS',
  ],
  starting: ['Redis is loading its data', 'wait for it'],
  read_only: [
    'Redis takes no writes: this is a replica',
    'let REDIS_URL lead to the master, or promote this one',
  ],
  disk_full: ['Redis takes no writes: it can not save its data', 'look at its disk, and at its log'],
  out_of_memory: ['Redis takes no writes: its memory is full', 'raise maxmemory'],
  too_few_replicas: [
    'Redis takes no writes: too few replicas follow it',
    'start them, or lower min-replicas-to-write',
  ],
  no_master: ['Redis has no master at the moment', 'look at the Cluster, or at the Sentinels'],
  too_many_connections: ['Redis has no connection left', 'raise maxclients there, or run fewer processes'],
  login_refused: ['Redis refuses the login', 'check REDIS_URL: its user name and password'],
  no_database: [
    'Redis refuses its database',
    'check REDIS_URL: its database is a number below `databases` in redis.conf',
  ],
  no_permission: [
    'Redis denies a permission',
    'check the rights of the user in REDIS_URL: it needs all commands and keys (ACL SETUSER … +@all ~*)',
  ],
  evicts: [
    'Redis may drop wake-ups and counts: its maxmemory-policy is not noeviction',
    'set maxmemory-policy to noeviction',
  ],
  too_old: ['Redis is too old', 'use Redis 7.0 or newer'],
  certificate_untrusted: [
    "Redis's certificate is signed by an unknown CA",
    "set NODE_EXTRA_CA_CERTS to a file with that CA's certificate",
  ],
  certificate_of_other_host: [
    "Redis's certificate is for another host name",
    'use the name it is for in REDIS_URL',
  ],
  certificate_expired: ["Redis's certificate has expired", 'renew it'],
  certificate_not_yet_valid: [
    "Redis's certificate is not valid yet",
    "set this machine's clock right, or wait until it is valid",
  ],
  tls_failed: ['TLS with Redis fails', 'use rediss:// in REDIS_URL only if Redis takes TLS at that port'],
  process_short_of_files: [
    'This process has no file or port left for a connection to Redis',
    'raise its limit of open files (ulimit -n)',
  ],
  other: ['Redis answers with an error', "look at this process's log, and at that of Redis"],
} satisfies Record<string, Words>

export type PostgresCauseName = keyof typeof ofPostgres
export type RedisCauseName = keyof typeof ofRedis

const named = <Name extends string>(table: Record<Name, Words>) =>
  Object.fromEntries(
    Object.entries<Words>(table).map(([cause, [problem, advice]]) => [cause, { cause, problem, advice }]),
  ) as unknown as Record<Name, StoreCause>

export const postgresCauses = named(ofPostgres)
export const redisCauses = named(ofRedis)
