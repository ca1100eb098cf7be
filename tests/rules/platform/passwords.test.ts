import { expect, test } from 'vitest'
import { readSettings } from '../../../src/platform/settings/settings.ts'

const pieces = ['5432', '6379', 'geheim', 'secret']

/** Written into a URL as they are, each with pieces that a message must not repeat. */
const passwords = [
  '5432/geheim',
  '5432?geheim',
  '5432#geheim',
  'geheim/5432',
  'geheim?secret',
  'geheim#secret',
  'geheim@secret/5432',
  'geheim@secret?5432',
  'geheim@secret#5432',
  'geheim@5432:secret/x',
  'geheim%e9secret',
  'gehei%m',
  '[geheim',
  'geheim\\secret',
  'geheim secret',
]
const urls = [
  ['DATABASE_URL', (password: string) => `postgres://user:${password}@store/outbound`],
  ['DATABASE_URL', (password: string) => `postgres://user:${password}@/outbound?host=/run/postgresql`],
  ['REDIS_URL', (password: string) => `redis://user:${password}@store/1`],
  ['REDIS_URL', (password: string) => `redis://:${password}@store/1`],
  ['REDIS_URL', (password: string) => `redis+sentinel://user:${password}@store/main`],
  ['REDIS_URL', (password: string) => `redis+cluster://user:${password}@store`],
] as const
const cases = urls.flatMap(([name, url]) => passwords.map((password) => [name, url(password)] as const))

/** Where a client would connect, by the URL: messages about connections name that. */
function placesIn(url: string): string {
  const { hostname, port, pathname } = new URL(url.replace('@/', '@host/'))
  return `${hostname} ${port} ${pathname}`
}

test.each(cases)('%s %s is read whole, or refused without a piece of its password', (name, url) => {
  let message: string
  try {
    readSettings([name], { [name]: url })
    // One URL for several hosts is no URL for `placesIn`, and keeps its password apart by a pattern.
    message = url.includes('+') ? '' : placesIn(url)
  } catch (error) {
    message = (error as Error).message.replace(/, e\.g\. .*/s, '')
  }
  for (const piece of pieces) expect(message).not.toContain(piece)
})

test.each([
  'postgres://user:p%40ss%2Fw%23@store:5432/outbound',
  'postgres://user:p@ss@store/outbound',
  'postgres://user:password@/outbound?host=/run/postgresql',
  'postgres://user:@/outbound?host=/run/postgresql',
  'postgresql://user@/outbound?host=/run/postgresql',
  'postgres:///outbound?host=/run/postgresql&user=user',
  'postgres://user@%2Frun%2Fpostgresql/outbound',
])('DATABASE_URL %s is taken', (url) => {
  expect(readSettings(['DATABASE_URL'], { DATABASE_URL: url })).toEqual({ DATABASE_URL: url })
})
