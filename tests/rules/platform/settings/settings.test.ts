import { describe, expect, test } from 'vitest'
import {
  credentialsKeys,
  readAdminSettings,
  readSettings,
  SettingsError,
} from '../../../../src/platform/settings/settings.ts'

const required = {
  DATABASE_URL: 'postgres://user:password@localhost:5432/outbound',
  REDIS_URL: 'redis://localhost:6379',
  CREDENTIALS_KEY: Buffer.alloc(32, 1).toString('base64'),
  API_KEY_PEPPER: 'x'.repeat(32),
}

function read(over: Record<string, string | undefined> = {}) {
  return readSettings(undefined, { ...required, ...over }) as Record<string, unknown>
}

function faultsOf(variables: Record<string, string | undefined>): string[] {
  try {
    readSettings(undefined, variables)
  } catch (error) {
    expect(error).toBeInstanceOf(SettingsError)
    return (error as Error).message.split('\n').slice(1)
  }
  return []
}

describe('the default of', () => {
  test.each<[string, unknown]>([
    ['HOST', '0.0.0.0'],
    ['PORT', 3000],
    ['ADMIN_HOST', '127.0.0.1'],
    ['ADMIN_PORT', 3001],
    ['ADMIN_PASSWORD', undefined],
    ['ADMIN_USER_HEADER', undefined],
    ['ADMIN_ROLE_HEADER', undefined],
    ['QUEUE_SHARDS', 1],
    ['QUEUE_SHARDS_PREVIOUS', undefined],
    ['SUPPORT_SHOW_CONTENT', false],
    ['RATE_LIMIT_POINTS', 600],
    ['RATE_LIMIT_WINDOW_SECONDS', 60],
    ['AUTH_FAILURE_LIMIT', 100],
    ['MAX_BODY_BYTES', 26_214_400],
    ['WORKER_CONCURRENCY', 1000],
    ['PROVIDER_TIMEOUT_SECONDS', 15],
    ['DATABASE_POOL_SIZE', 10],
    ['RETRY_DELAYS_SECONDS', [1, 5, 25, 120, 600, 2400, 7200]],
    ['RETENTION_DAYS', 90],
    ['MEDIA_RETENTION_HOURS', 24],
    ['ALLOWED_PRIVATE_NETWORKS', []],
    ['CLIENT_PRIVATE_NETWORKS', []],
    ['TRUST_PROXY', []],
    ['LOG_LEVEL', 'info'],
  ])('%s is %j, and an empty value counts as unset', (name, value) => {
    expect(read()[name]).toEqual(value)
    expect(read({ [name]: '' })[name]).toEqual(value)
  })
})

test.each(Object.keys(required))(
  '%s has no default: unset or empty it is a fault that says what to do',
  (name) => {
    for (const value of [undefined, '']) {
      const faults = faultsOf({ ...required, [name]: value })
      expect(faults).toHaveLength(1)
      expect(faults[0]).toMatch(
        new RegExp(`^ {2}${name} is not set; (set it, e\\.g\\. to|make one with:) .+`),
      )
    }
  },
)

test.each<[string, string, unknown]>([
  ['PORT', '0', 0],
  ['PORT', '65535', 65_535],
  ['ADMIN_PORT', '0', 0],
  ['SUPPORT_SHOW_CONTENT', 'true', true],
  ['SUPPORT_SHOW_CONTENT', 'false', false],
  ['RATE_LIMIT_POINTS', '1', 1],
  ['RETRY_DELAYS_SECONDS', '7', [7]],
  ['RETRY_DELAYS_SECONDS', '0,0,10', [0, 0, 10]],
  ['LOG_LEVEL', 'debug', 'debug'],
  [
    'REDIS_URL',
    'rediss://a:b@redis.example:6380/3',
    { kind: 'single', url: 'rediss://a:b@redis.example:6380/3' },
  ],
  ['DATABASE_URL', 'postgresql://db.example/outbound', 'postgresql://db.example/outbound'],
])('%s=%s is %j', (name, text, value) => {
  expect(read({ [name]: text })[name]).toEqual(value)
})

test('a credentials key is its 32 bytes', () => {
  expect(read().CREDENTIALS_KEY).toEqual(Buffer.alloc(32, 1))
})

test.each([
  ['redis+sentinel://a,b/mymaster', 1],
  ['redis+cluster://a,b', 3],
  ['rediss+cluster://user:secret@a', 3],
])('without QUEUE_SHARDS, REDIS_URL=%s has %i shards', (REDIS_URL, count) => {
  expect(read({ REDIS_URL }).QUEUE_SHARDS).toBe(count)
  expect(read({ REDIS_URL, QUEUE_SHARDS: '6' }).QUEUE_SHARDS).toBe(6)
})

test('the former number of shards has to be another one', () => {
  const REDIS_URL = 'redis+cluster://a'
  for (const over of [{ QUEUE_SHARDS_PREVIOUS: '1' }, { REDIS_URL, QUEUE_SHARDS_PREVIOUS: '3' }])
    expect(faultsOf({ ...required, ...over }).join()).toContain('is the same as QUEUE_SHARDS; set it to')
  expect(faultsOf({ ...required, REDIS_URL, QUEUE_SHARDS_PREVIOUS: '1' })).toEqual([])
})

test('networks may have spaces between them', () => {
  const networks = read({ ALLOWED_PRIVATE_NETWORKS: '10.0.0.0/8, fd00::/8' }).ALLOWED_PRIVATE_NETWORKS
  expect((networks as [{ toString(): string }, number][]).map(([base, bits]) => `${base}/${bits}`)).toEqual([
    '10.0.0.0/8',
    'fd00::/8',
  ])
})

describe('the fault of an invalid value says what it has to be', () => {
  test.each([
    ['DATABASE_URL', 'localhost', 'has to be a URL, e.g. postgres://'],
    ['DATABASE_URL', 'mysql://localhost/x', 'has to be a URL, e.g. postgres://'],
    ['REDIS_URL', 'http://localhost', 'has to be a URL, e.g. redis://'],
    ['REDIS_URL', 'redis+sentinel://a,b', 'has to name the master after the hosts, e.g. redis+sentinel://'],
    [
      'REDIS_URL',
      'redis+cluster://a:b',
      'has no host and port at number 1 of the list, e.g. redis+cluster://',
    ],
    ['CREDENTIALS_KEY', 'short', 'openssl rand -base64 32'],
    ['CREDENTIALS_KEY', Buffer.alloc(31).toString('base64'), 'openssl rand -base64 32'],
    ['CREDENTIALS_KEY', Buffer.alloc(33).toString('base64'), 'openssl rand -base64 32'],
    ['CREDENTIALS_KEY', `${required.CREDENTIALS_KEY}\n`, 'openssl rand -base64 32'],
    ['CREDENTIALS_KEY_PREVIOUS', 'short', 'the former CREDENTIALS_KEY'],
    ['CREDENTIALS_KEY_PREVIOUS', required.CREDENTIALS_KEY, 'is the same as CREDENTIALS_KEY; set it to'],
    ['API_KEY_PEPPER', 'x'.repeat(31), 'at least 32 characters'],
    ['API_KEY_PEPPER', `${required.API_KEY_PEPPER}\n`, 'ends with a line break'],
    ['API_KEY_PEPPER', `${required.API_KEY_PEPPER}\r\n`, 'ends with a line break'],
    ['API_KEY_PEPPER', `${required.API_KEY_PEPPER}\r`, 'ends with a line break'],
    ['QUEUE_SHARDS', '0', 'whole number from 1 to 64'],
    ['QUEUE_SHARDS', '65', 'whole number from 1 to 64'],
    ['QUEUE_SHARDS_PREVIOUS', 'x', 'whole number from 1 to 64'],
    ['PORT', '65536', 'whole number from 0 to 65535'],
    ['PORT', '-1', 'whole number from 0 to 65535'],
    ['PORT', '3000.5', 'whole number from 0 to 65535'],
    ['PORT', '0x10', 'whole number from 0 to 65535'],
    ['PORT', '1e3', 'whole number from 0 to 65535'],
    ['PORT', 'http', 'whole number from 0 to 65535'],
    ['PORT', ' ', 'whole number from 0 to 65535'],
    ['ADMIN_PORT', '65536', 'whole number from 0 to 65535'],
    ['SUPPORT_SHOW_CONTENT', 'yes', 'has to be true or false'],
    ['RATE_LIMIT_POINTS', '0', 'whole number from 1 to'],
    ['RATE_LIMIT_WINDOW_SECONDS', '0', 'whole number from 1 to'],
    ['AUTH_FAILURE_LIMIT', '0', 'whole number from 1 to'],
    ['MAX_BODY_BYTES', '99999999999999999999', 'whole number from'],
    ['RETRY_DELAYS_SECONDS', '1,x', 'list of whole seconds, e.g. 1,5,25'],
    ['RETRY_DELAYS_SECONDS', '1;5', 'list of whole seconds, e.g. 1,5,25'],
    ['ALLOWED_PRIVATE_NETWORKS', '10.0.0.1', 'list of networks, e.g. 10.0.0.0/8,fd00::/8'],
    ['TRUST_PROXY', 'true', 'list of networks, e.g. 10.0.0.0/8,fd00::/8'],
    ['LOG_LEVEL', 'loud', 'info'],
  ])('%s=%j', (name, text, words) => {
    const faults = faultsOf({ ...required, [name]: text })
    expect(faults).toHaveLength(1)
    expect(faults[0]).toMatch(new RegExp(`^ {2}${name} `))
    expect(faults[0]).toContain(words)
  })
})

test('a previous credentials key comes after the current one, and has to be another one', () => {
  const previous = Buffer.alloc(32, 2)
  const keysOf = (over: object) => credentialsKeys(readSettings(undefined, { ...required, ...over }))
  expect(keysOf({})).toEqual([Buffer.alloc(32, 1)])
  expect(keysOf({ CREDENTIALS_KEY_PREVIOUS: '' })).toEqual([Buffer.alloc(32, 1)])
  expect(keysOf({ CREDENTIALS_KEY_PREVIOUS: previous.toString('base64') })).toEqual([
    Buffer.alloc(32, 1),
    previous,
  ])
  const alone = { ...required, CREDENTIALS_KEY_PREVIOUS: required.CREDENTIALS_KEY }
  expect(() => readSettings(['CREDENTIALS_KEY_PREVIOUS'], alone)).toThrow('is the same as CREDENTIALS_KEY')
})

test('all faults are printed at once, a line each', () => {
  const faults = faultsOf({ DATABASE_URL: 'x', CREDENTIALS_KEY: 'x', PORT: 'x', LOG_LEVEL: 'x' })
  expect(faults.map((fault) => fault.trim().split(' ')[0]).sort()).toEqual(
    ['DATABASE_URL', 'REDIS_URL', 'CREDENTIALS_KEY', 'API_KEY_PEPPER', 'PORT', 'LOG_LEVEL'].sort(),
  )
})

test('no fault repeats a value, which may be a secret', () => {
  const faults = faultsOf({
    DATABASE_URL: 'mysql://user:hunter2@localhost',
    REDIS_URL: 'redis+cluster://user:hunter2',
    CREDENTIALS_KEY: 'hunter2',
    API_KEY_PEPPER: 'hunter2',
    PORT: 'hunter2',
    LOG_LEVEL: 'hunter2',
  })
  expect(faults).toHaveLength(6)
  expect(faults.join()).not.toContain('hunter2')
})

test('a process requires only the settings that it needs', () => {
  const settings = readSettings(['DATABASE_URL'], { DATABASE_URL: required.DATABASE_URL, PORT: 'x' })
  expect(settings).toEqual({ DATABASE_URL: required.DATABASE_URL })
})

test('variables that are no settings are ignored', () => {
  expect(read({ PATH: '/bin', HOME: '/root' })).not.toHaveProperty('PATH')
})

describe('the admin process', () => {
  const stores = { DATABASE_URL: required.DATABASE_URL, REDIS_URL: required.REDIS_URL }

  test('needs the stores, and neither of the secrets', () => {
    expect(readAdminSettings(stores)).toMatchObject({ ADMIN_HOST: '127.0.0.1', ADMIN_PORT: 3001 })
    expect(readAdminSettings(stores)).not.toHaveProperty('CREDENTIALS_KEY')
  })

  test('takes the secrets with which it sets up accounts, where they are set', () => {
    expect(readAdminSettings({ ...required, ...stores })).toMatchObject({
      CREDENTIALS_KEY: Buffer.from(required.CREDENTIALS_KEY, 'base64'),
      API_KEY_PEPPER: required.API_KEY_PEPPER,
    })
    const weak = { ...stores, CREDENTIALS_KEY: 'short' }
    expect(() => readAdminSettings(weak)).toThrow('CREDENTIALS_KEY has to be 32 bytes in base64')
  })

  test.each(['127.0.0.1', '127.8.8.8', '::1', 'localhost', ''])('serves %j without a password', (host) => {
    expect(readAdminSettings({ ...stores, ADMIN_HOST: host })).not.toHaveProperty('ADMIN_PASSWORD')
  })

  test.each([
    '0.0.0.0',
    '::',
    '10.0.0.1',
    'admin.example.com',
    'localhost.example.com',
    '127.0.0.1.example.com',
  ])('refuses %s without a password, beside all other faults', (host) => {
    const refused = () =>
      readAdminSettings({ REDIS_URL: stores.REDIS_URL, ADMIN_HOST: host, ADMIN_PASSWORD: '' })
    expect(refused).toThrow(SettingsError)
    expect(refused).toThrow(/^ {2}DATABASE_URL is not set.*\n {2}ADMIN_PASSWORD is not set; set it/m)
    expect(readAdminSettings({ ...stores, ADMIN_HOST: host, ADMIN_PASSWORD: 'x' }).ADMIN_HOST).toBe(host)
  })

  const proxy = {
    ADMIN_USER_HEADER: 'X-User',
    ADMIN_ROLE_HEADER: 'X-Role',
    TRUST_PROXY: '10.1.2.3/32',
  }

  test("takes the headers of a proxy's word only with the proxy that writes them", () => {
    expect(readAdminSettings({ ...stores, ...proxy })).toMatchObject({
      ADMIN_USER_HEADER: 'x-user',
      ADMIN_ROLE_HEADER: 'x-role',
    })
    for (const [given, issue] of [
      [{ ADMIN_USER_HEADER: '' }, /ADMIN_USER_HEADER is not set; set it, or unset ADMIN_ROLE_HEADER/],
      [{ ADMIN_ROLE_HEADER: '' }, /ADMIN_ROLE_HEADER is not set; set it, or unset ADMIN_USER_HEADER/],
      [{ TRUST_PROXY: '' }, /TRUST_PROXY is not set; set it to the proxy that writes ADMIN_USER_HEADER/],
      [{ ADMIN_ROLE_HEADER: 'x-user' }, /ADMIN_ROLE_HEADER is the same as ADMIN_USER_HEADER/],
      [{ ADMIN_USER_HEADER: 'X User:' }, /ADMIN_USER_HEADER has to be the name of a header/],
    ] as const)
      expect(() => readAdminSettings({ ...stores, ...proxy, ...given })).toThrow(issue)
  })

  test("needs a password on another address all the same: a proxy's word is for its people only", () => {
    expect(() => readAdminSettings({ ...stores, ...proxy, ADMIN_HOST: '0.0.0.0' })).toThrow(
      'ADMIN_PASSWORD is not set',
    )
  })
})

describe('in production', () => {
  const strong = {
    ...required,
    NODE_ENV: 'production',
    CREDENTIALS_KEY: Buffer.from(Array.from({ length: 32 }, (_, index) => index)).toString('base64'),
    API_KEY_PEPPER: 'a pepper that nobody has, of many letters',
  }
  const admin = (over: object) => () => readAdminSettings({ ...strong, ...over })

  test('strong settings start, with private networks, also around the metadata of a cloud', () => {
    const networks = '10.0.0.0/8,100.64.0.0/10,fd00::/8,fc00::/7,192.168.1.7/32'
    const over = { ALLOWED_PRIVATE_NETWORKS: networks, CLIENT_PRIVATE_NETWORKS: networks }
    expect(faultsOf({ ...strong, ...over })).toEqual([])
    expect(admin({ ADMIN_PASSWORD: 'five plain words', TRUST_PROXY: '0.0.0.0/0' })).not.toThrow()
  })

  test.each([
    ['CREDENTIALS_KEY', Buffer.alloc(32).toString('base64'), 'a few bytes repeated; make one with'],
    ['CREDENTIALS_KEY', Buffer.alloc(32, 7).toString('base64'), 'a few bytes repeated; make one with'],
    [
      'CREDENTIALS_KEY',
      Buffer.from('abcd'.repeat(8)).toString('base64'),
      'a few bytes repeated; make one with',
    ],
    ['API_KEY_PEPPER', 'ab'.repeat(24), 'a few characters repeated; make one with'],
    ['API_KEY_PEPPER', 'a'.repeat(48), 'a few characters repeated; make one with'],
    ...[
      Buffer.from('password'.repeat(4)),
      Buffer.from('changed'.repeat(5)).subarray(0, 32),
      Buffer.alloc(32).fill(1, 31),
    ].map((key) => ['CREDENTIALS_KEY', key.toString('base64'), 'a few bytes repeated']),
    ...[`${'a'.repeat(40)}b`, 'changeme'.repeat(4)].map((pepper) => [
      'API_KEY_PEPPER',
      pepper,
      'a few characters repeated',
    ]),
    ...[strong.CREDENTIALS_KEY.replace('=', ''), `${strong.CREDENTIALS_KEY} `].map((pepper) => [
      'API_KEY_PEPPER',
      pepper,
      'the same as CREDENTIALS_KEY',
    ]),
    ['API_KEY_PEPPER', strong.CREDENTIALS_KEY, 'the same as CREDENTIALS_KEY; make one with'],
    ...['0.0.0.0/0', '::/0', '10.0.0.0/8,0.0.0.0/1', '2000::/3'].map((cidr) => [
      cidr,
      'is all of the internet',
    ]),
    ...[
      '169.254.169.254/32',
      '169.254.0.0/16',
      '168.63.129.16/32',
      '100.100.100.200/32',
      'fd00:ec2::254/128',
      'fd00:c1::a9fe:a9fe/128',
      'fd00:42::42/128',
    ].map((cidr) => [cidr, "clouds serve their machines' credentials"]),
    ...['64:ff9b::/96', '64:ff9b:1::/48'].map((cidr) => [cidr, 'every IPv4 address']),
  ])('%s %s is refused', (name, value, words) => {
    const over = words === undefined ? networkLists(name) : [{ [name]: value }]
    for (const settings of over) {
      const faults = faultsOf({ ...strong, ...settings })
      expect(faults).toEqual([expect.stringContaining(words ?? value)])
      expect(faults[0]).toMatch(new RegExp(`^ {2}${Object.keys(settings)[0]} `))
    }
  })

  test.each([
    ...['a', '1234567', 'aaaaaaaaaaaa', 'abcabcabc', 'password', 'Password1!', 'admin123', '23456789'],
    ...['adminadmin', 'adminadmina', 'abcdefgh', 'P@ssw0rd', 'qwertz123', 'iloveyou!'],
  ])('ADMIN_PASSWORD=%s is refused', (given) => {
    expect(admin({ ADMIN_PASSWORD: given })).toThrow(/^ {2}ADMIN_PASSWORD is .*; make one with: openssl/m)
  })

  test.each(['0.0.0.0/0', '::/0', '0.0.0.0/1,128.0.0.0/1'])(
    'with the headers of a proxy, TRUST_PROXY=%s is refused',
    (given) => {
      const headers = { ADMIN_USER_HEADER: 'X-User', ADMIN_ROLE_HEADER: 'X-Role', TRUST_PROXY: given }
      expect(admin(headers)).toThrow(/^ {2}TRUST_PROXY is everybody.*; set it to the address of the proxy/m)
    },
  )

  test('all weak settings are printed at once, and none of their values', () => {
    const faults = faultsOf({
      ...strong,
      CREDENTIALS_KEY: Buffer.alloc(32).toString('base64'),
      API_KEY_PEPPER: 'q'.repeat(32),
      CLIENT_PRIVATE_NETWORKS: '0.0.0.0/0',
      PORT: 'x',
    })
    expect(faults).toHaveLength(4)
    expect(faults.join()).not.toMatch(/AAAA|qqqq/)
  })

  test('is what no NODE_ENV of development or test says', () => {
    const weak = { ...strong, API_KEY_PEPPER: 'q'.repeat(32) }
    for (const given of ['development', 'test']) expect(faultsOf({ ...weak, NODE_ENV: given })).toEqual([])
    for (const given of ['production', 'staging'])
      expect(faultsOf({ ...weak, NODE_ENV: given })).toHaveLength(1)
  })

  /** Both lists with these networks. */
  function networkLists(cidrs: string): Record<string, string>[] {
    return [{ ALLOWED_PRIVATE_NETWORKS: cidrs }, { CLIENT_PRIVATE_NETWORKS: cidrs }]
  }
})
