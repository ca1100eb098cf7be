import { pino } from 'pino'
import { describe, expect, test } from 'vitest'
import { readAdminSettings, readSettings } from '../../../../src/platform/settings/settings.ts'
import { warnOfOpenStores } from '../../../../src/platform/settings/store-protection.ts'
import { testSecrets } from '../../../support/service.ts'

const near = { DATABASE_URL: 'postgres://u:p@localhost/o', REDIS_URL: 'redis://localhost', ...testSecrets }

/** The lines that a process logs at its start with these settings. */
function linesOf(over: Record<string, string>): Record<string, string>[] {
  const lines: string[] = []
  const log = pino({ level: 'info' }, { write: (line) => void lines.push(line) })
  warnOfOpenStores(log, readSettings(undefined, { ...near, ...over }))
  return lines.map((line) => JSON.parse(line))
}

const readers: [string, (variables: Record<string, string>) => unknown][] = [
  ['an API or a worker', (variables) => readSettings(undefined, variables)],
  ['an admin process', (variables) => readAdminSettings(variables)],
]

describe.each(readers)('where TLS is required, %s', (_, start) => {
  test.each([
    ['DATABASE_URL', 'postgres://u:p@db/o'],
    ['DATABASE_URL', 'postgres://u:p@db/o?sslmode=disable'],
    ['DATABASE_URL', 'postgres://u:p@localhost/o'],
    ['REDIS_URL', 'redis://:p@redis'],
    ['REDIS_URL', 'redis+sentinel://:p@a,b/m'],
    ['REDIS_URL', 'redis+cluster://:p@a,b'],
  ])('does not start with %s=%s, and says what to set', (name, url) => {
    const require = name.replace('_URL', '_REQUIRE_TLS')
    const issue = new RegExp(
      `^ {2}${name} has no TLS, which ${require} requires; .*, or unset ${require}$`,
      'm',
    )
    expect(() => start({ ...near, [name]: url, [require]: 'true' })).toThrow(issue)
    for (const given of ['', 'false'])
      expect(() => start({ ...near, [name]: url, [require]: given })).not.toThrow()
  })

  test.each([
    ['DATABASE_URL', 'postgres://u:p@db/o?sslmode=require'],
    ['DATABASE_URL', 'postgres://u:p@db/o?sslmode=verify-full'],
    ['DATABASE_URL', 'postgres://u:p@db/o?sslrootcert=system'],
    ['DATABASE_URL', 'postgres://u:p@/o?host=/run/postgresql'],
    ['REDIS_URL', 'rediss://:p@redis'],
    ['REDIS_URL', 'rediss+sentinel://:p@a,b/m'],
    ['REDIS_URL', 'rediss+cluster://:p@a,b'],
  ])('starts with %s=%s', (name, url) => {
    expect(() =>
      start({ ...near, [name]: url, [name.replace('_URL', '_REQUIRE_TLS')]: 'true' }),
    ).not.toThrow()
  })
})

test('where TLS to PostgreSQL is required, neither migrate nor the CLI starts without', () => {
  const set = { ...near, DATABASE_REQUIRE_TLS: 'true' }
  expect(() => readSettings(['DATABASE_URL'], set)).toThrow('DATABASE_URL has no TLS')
})

test.each([
  ['DATABASE_URL', 'postgres://u:p@db/o', 'TLS'],
  ['DATABASE_URL', 'postgres://u@db/o?sslmode=require', 'password'],
  ['DATABASE_URL', 'postgres://u@10.0.0.1/o', 'TLS and password'],
  ['DATABASE_URL', 'postgres://u@localhost/o?host=db', 'TLS and password'],
  ['REDIS_URL', 'redis://redis', 'TLS and password'],
  ['REDIS_URL', 'redis://:secret-word@redis', 'TLS'],
  ['REDIS_URL', 'rediss://redis', 'password'],
  ['REDIS_URL', 'redis+sentinel://localhost,b/m', 'TLS and password'],
  ['REDIS_URL', 'redis+cluster://:p@a,b', 'TLS'],
])('%s=%s is a warning that names what is missing, and how to silence it', (name, url, lack) => {
  const require = name.replace('_URL', '_REQUIRE_TLS')
  expect(linesOf({ [name]: url })).toMatchObject([
    {
      event: 'store_open',
      reason: `${name} leads to another host, without ${lack}`,
      check: expect.stringMatching(new RegExp(`^${name}: .* set ${require}=false$`)),
    },
  ])
  expect(JSON.stringify(linesOf({ [name]: url }))).not.toContain('secret-word')
  expect(linesOf({ [name]: url, [require]: 'false' })).toEqual([])
})

test.each([
  ['DATABASE_URL', 'postgres://u@localhost/o'],
  ['DATABASE_URL', 'postgres://u@/o?host=/run/postgresql'],
  ['DATABASE_URL', 'postgres://u:p@db/o?sslmode=verify-full'],
  ['DATABASE_URL', 'postgres://u@db/o?sslcert=/dev/null&sslkey=/dev/null'],
  ['REDIS_URL', 'redis://127.0.0.1'],
  ['REDIS_URL', 'redis://[::1]'],
  ['REDIS_URL', 'rediss+cluster://:p@a,b'],
])('%s=%s is no warning', (name, url) => {
  expect(linesOf({ [name]: url })).toEqual([])
})
