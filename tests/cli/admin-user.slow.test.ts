import { PassThrough } from 'node:stream'
import { beforeAll, describe, expect, test } from 'vitest'
import { connectDatabase, type Database } from '../../db/connection/client.ts'
import { beginSession, findCredentials, readSession } from '../../db/people/sessions.ts'
import { readSecret } from '../../src/cli/read-secret.ts'
import { isPassword } from '../../src/core/accounts/password.ts'
import { runCli, runCliWithSecret } from '../support/cli.ts'
import { freshStores, type Stores } from '../support/stores.ts'

let stores: Stores
let db: Database

beforeAll(async () => {
  stores = await freshStores()
  db = connectDatabase(stores.databaseUrl, {
    poolSize: 2,
    queryTimeoutMs: 10_000,
    onConnectionLost: () => {},
  })
  return () => db.$client.end()
})

const password = 'correct horse battery staple'
const add = (name: string, role = 'support', secret = password) =>
  runCliWithSecret({ stores }, secret, 'admin-user', 'add', '--name', name, '--role', role)
const set = (secret: string, ...name: string[]) =>
  runCliWithSecret({ stores }, secret, 'admin-user', 'set-password', ...name)
const remove = (...name: string[]) => runCli({ stores }, 'admin-user', 'remove', ...name)

async function listed(): Promise<Record<string, unknown>[]> {
  return JSON.parse((await runCli({ stores }, 'admin-user', 'list')).stdout).people
}

async function signIn(name: string, token: string): Promise<Buffer> {
  const credentials = await findCredentials(db, name)
  const tokenHash = Buffer.from(token)
  expect(credentials && (await beginSession(db, credentials, { tokenHash, address: '192.0.2.1' }))).toBe(true)
  return tokenHash
}

test('add, list and remove: a role each, and when they last signed in', async () => {
  expect(JSON.parse((await add('Ann')).stdout)).toEqual({ name: 'Ann', role: 'support' })
  expect(JSON.parse((await add('bob', 'operator')).stdout)).toEqual({ name: 'bob', role: 'operator' })
  const at = expect.stringMatching(/Z$/)
  expect(await listed()).toEqual([
    { name: 'Ann', role: 'support', createdAt: at, signedInAt: null, sessions: 0 },
    { name: 'bob', role: 'operator', createdAt: at, signedInAt: null, sessions: 0 },
  ])
  await signIn('bob', 'a token')
  expect((await listed())[1]).toMatchObject({ signedInAt: at, sessions: 1 })
  expect(JSON.parse((await remove('--name', 'ANN')).stdout)).toEqual({ name: 'Ann' })
  expect(JSON.parse((await remove('bob')).stdout)).toEqual({ name: 'bob' })
  expect(await listed()).toEqual([])
})

test('only a salted hash with its cost is stored, and the password is in no output', async () => {
  const { stdout, stderr } = await add('carl')
  expect(stdout + stderr).not.toContain('horse')
  const { passwordHash = '' } = (await findCredentials(db, 'carl')) ?? {}
  expect(passwordHash).toMatch(/^scrypt\$32768\$8\$3\$[^$]{24}\$[^$]{44}$/)
  await set(password, 'carl')
  expect((await findCredentials(db, 'carl'))?.passwordHash).not.toBe(passwordHash)
})

test('a name is taken whatever its case and form', async () => {
  await add('Zoé')
  for (const name of ['zoé', 'ZOÉ', 'Zoe\u0301']) {
    const { status, stderr } = await add(name, 'operator')
    expect(status).toBe(4)
    expect(stderr).toMatch(
      /^There is a person named .* already; choose another name, or: outbound admin-user/,
    )
  }
  expect((await findCredentials(db, 'ZOÉ'))?.name).toBe('Zoé')
})

describe('as a password', () => {
  beforeAll(async () => void (await add('dora')))

  test.each([
    ['a short one', 'elevenchars', 'The password is too short: use at least 12 characters'],
    ['an empty one', '', 'The password is too short'],
    ['one of several lines', `${password}\n${password}`, 'use one line'],
    ['an endless one', 'x'.repeat(1025), 'The password is too long: use at most 1024 characters'],
  ])('%s is refused in words', async (_what, secret, words) => {
    for (const { status, stderr } of [await add('emil', 'support', secret), await set(secret, 'dora')]) {
      expect(status).toBe(64)
      expect(stderr).toContain(words)
      expect(stderr.trim().split('\n')).toHaveLength(1)
    }
    expect((await listed()).map(({ name }) => name)).not.toContain('emil')
    expect(await isPassword(password, (await findCredentials(db, 'dora'))?.passwordHash)).toBe(true)
  })
})

test.each([
  [['add', '--role', 'support'], "required option '--name <name>'"],
  [['add', '--name', 'x'], "required option '--role <role>'"],
  [['add', '--name', 'x', '--role', 'root'], 'Allowed choices are reader, support, operator'],
  [['add', '--name', ' x', '--role', 'support'], 'Use 1 to 64 characters on one line'],
  [['add', '--name', 'a\u202eb', '--role', 'support'], 'Use 1 to 64 characters on one line'],
  [['add', '--name', 'x'.repeat(65), '--role', 'support'], 'Use 1 to 64 characters on one line'],
  [['remove'], 'Give a name, as in: outbound admin-user remove --name ann'],
  [['remove', 'nobody'], 'No person is named nobody; see them with: outbound admin-user list'],
  [['set-password', '--name', 'nobody'], 'No person is named nobody'],
])('%j is refused in words', async (args, words) => {
  const { status, stderr } = await runCliWithSecret({ stores }, password, 'admin-user', ...args)
  expect(status).toBe(words.startsWith('No person') ? 3 : 64)
  expect(stderr).toContain(words)
})

describe('sessions end', () => {
  test('with a new password, which alone is right then', async () => {
    await add('fay')
    const tokenHash = await signIn('fay', 'token of fay')
    expect((await readSession(db, tokenHash)).person).toEqual({ name: 'fay', role: 'support' })
    expect((await set('another horse battery', '--name', 'Fay')).status).toBe(0)
    expect((await readSession(db, tokenHash)).person).toBeUndefined()
    const { passwordHash } = (await findCredentials(db, 'fay')) ?? {}
    expect(await isPassword('another horse battery', passwordHash)).toBe(true)
    expect(await isPassword(password, passwordHash)).toBe(false)
  })

  test('with their person', async () => {
    await add('gus')
    const tokenHash = await signIn('gus', 'token of gus')
    await remove('gus')
    expect((await readSession(db, tokenHash)).person).toBeUndefined()
  })

  test('also one that begins while the password changes', async () => {
    await add('hal')
    const credentials = await findCredentials(db, 'hal')
    await set('another horse battery', 'hal')
    const session = { tokenHash: Buffer.from('late'), address: '192.0.2.1' }
    expect(credentials && (await beginSession(db, credentials, session))).toBe(false)
    expect((await readSession(db, session.tokenHash)).person).toBeUndefined()
  })

  test('after 12 hours', async () => {
    await add('ida')
    const tokenHash = await signIn('ida', 'token of ida')
    const leave = (interval: string) =>
      db.$client.query('update person_sessions set expires_at = expires_at - $1::interval', [interval])
    await leave('11 hours 59 minutes')
    expect((await readSession(db, tokenHash)).person).toBeDefined()
    await leave('1 minute')
    expect((await readSession(db, tokenHash)).person).toBeUndefined()
  })
})

describe('the password', () => {
  const asked: string[] = []
  const terminal = (...typed: string[]) => {
    asked.length = 0
    const raw: boolean[] = []
    const input = Object.assign(new PassThrough(), { isTTY: true, setRawMode: (on: boolean) => raw.push(on) })
    for (const keys of typed) input.write(keys)
    return { raw, read: readSecret(input, (question) => asked.push(question), 'Password') }
  }

  test('is asked for twice on a terminal, whose echo is off', async () => {
    const { raw, read } = terminal('four little words\r', 'four little words\r')
    expect(await read).toBe('four little words')
    expect(asked.join('')).toBe('Password: \nPassword again: \n')
    expect(raw).toEqual([true, false])
  })

  test('typed in two ways, or left by Ctrl+C, changes nothing', async () => {
    await expect(terminal('four little words\r', 'four litle words\r').read).rejects.toThrow(
      'were not the same',
    )
    await expect(terminal('four lit', '\u0003').read).rejects.toThrow('Nothing was changed')
  })

  test.each([
    ['four little words\n', 'four little words'],
    ['four little words\r\n', 'four little words'],
    ['four little words', 'four little words'],
    [' four little words ', ' four little words '],
  ])('is read from stdin, %j', async (input, secret) => {
    expect(await readSecret(new PassThrough().end(input), () => {}, 'Password')).toBe(secret)
  })
})
