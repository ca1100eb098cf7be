import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'

/** Commands that disturb, or show, other files on the PostgreSQL and the Redis that the files of a test run share. */
const ofAll: [what: RegExp, unless?: RegExp][] = [
  [/\.monitor\(|\bflushall\b|\.script\(|\.config\('SET'|\bcommandstats\b|\.client\('KILL'|\balter system\b/i],
  [/call\(\s*'(?:CONFIG|MONITOR|SCRIPT|CLIENT)'/i],
  [/from pg_stat_activity[^'"`;]*/g, /datname = current_database\(\)|application_name = /],
]

/** Each does it to servers that it has started itself, or to a database of its own, and only to those. */
const exempt: Record<string, string> = {
  'platform/shared-limiter.test.ts': 'forgets the scripts of its own Redis',
  'support/breakable-servers.ts': 'empties its own Redis',
  'support/empty-stores.ts': 'closes connections to the database that it empties',
  'support/replicated-postgres.ts': 'names the standby of its own PostgreSQL',
  'support/tls-stores.ts': 'turns TLS on in its own PostgreSQL and Redis',
}

const files = readdirSync('tests', { recursive: true, encoding: 'utf8' }).filter(
  (file) => /\.tsx?$/.test(file) && !/^(bench|chaos|rules\/check|screenshots)\//.test(file),
)

function sharing(text: string): string[] {
  return ofAll.flatMap(([what, unless]) =>
    [...text.matchAll(new RegExp(what, 'gi'))]
      .map(([found]) => found)
      .filter((found) => !unless?.test(found)),
  )
}

test('no test disturbs, or is disturbed by, other tests on the shared servers', () => {
  expect(files).toContain('support/stores.ts')
  const sources = files.map((file) => [file, readFileSync(join('tests', file), 'utf8')] as const)
  const offending = sources
    .map(([file, source]) => [file, sharing(source)] as const)
    .filter(([, words]) => words.length > 0)
  expect(offending.filter(([file]) => !exempt[file])).toEqual([])
  expect(
    Object.keys(exempt).filter((file) => !offending.some(([each]) => each === file)),
    'exempt without need; remove it from the list',
  ).toEqual([])
})

test.each([
  'await redis.monitor()',
  "redis.script('FLUSH')",
  'await client.flushall()',
  "redis.config('SET', 'maxmemory', 1)",
  "redis.info('commandstats')",
  "redis.client('KILL', 'TYPE', 'normal')",
  "'alter system set log_connections = on'",
  "redis.call('CONFIG', 'SET', 'maxmemory', 1)",
  "redis.call('monitor')",
  "redis.call('SCRIPT', 'FLUSH')",
  "redis.call('CLIENT', 'PAUSE', 100)",
  "redis.call( 'FLUSHALL')",
  "'select query from pg_stat_activity'",
])('that check finds %s', (line) => {
  expect(sharing(line)).not.toEqual([])
})

test.each([
  'await redis.flushdb()',
  "'select pid from pg_stat_activity where datname = current_database()'",
  "'select from pg_stat_activity where application_name = $1'",
  "redis.config('GET', 'databases')",
  "redis.call('GET', 'config')",
])('that check allows %s', (line) => {
  expect(sharing(line)).toEqual([])
})
