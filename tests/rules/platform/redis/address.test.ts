import { expect, test } from 'vitest'
import { parseRedisUrl, type RedisAddress } from '../../../../src/platform/redis/address.ts'

const plain = { login: {}, hasTls: false }
const sentinel = { ...plain, kind: 'sentinel', sentinelLogin: {}, master: 'm', database: 0 } as const
const login = { username: 'user', password: 'p@/ss' }

test.for<[string, RedisAddress]>([
  ['redis://localhost:6379', { kind: 'single', url: 'redis://localhost:6379' }],
  ['rediss://:p%40ss@cache.example.com/3', { kind: 'single', url: 'rediss://:p%40ss@cache.example.com/3' }],
  [
    'redis://a?commandTimeout=500',
    { kind: 'single', url: 'redis://a?commandTimeout=500', commandTimeoutMs: 500 },
  ],
  [
    'redis+sentinel://a:26379,b,[::1]:26381/m',
    {
      ...sentinel,
      sentinels: [
        { host: 'a', port: 26_379 },
        { host: 'b', port: 26_379 },
        { host: '::1', port: 26_381 },
      ],
    },
  ],
  [
    'redis+sentinel://user:p%40%2Fss@a:1/m/2?commandTimeout=500',
    {
      ...sentinel,
      login,
      sentinelLogin: login,
      database: 2,
      sentinels: [{ host: 'a', port: 1 }],
      commandTimeoutMs: 500,
    },
  ],
  [
    'rediss+sentinel://:x@a/m?sentinelPassword=y%2B&sentinelUsername=s',
    {
      ...sentinel,
      hasTls: true,
      login: { password: 'x' },
      sentinelLogin: { username: 's', password: 'y+' },
      sentinels: [{ host: 'a', port: 26_379 }],
    },
  ],
  [
    'redis+sentinel://:x@a/m?sentinelPassword=',
    { ...sentinel, login: { password: 'x' }, sentinels: [{ host: 'a', port: 26_379 }] },
  ],
  [
    'redis+cluster://a,b:7000',
    {
      ...plain,
      kind: 'cluster',
      nodes: [
        { host: 'a', port: 6379 },
        { host: 'b', port: 7000 },
      ],
    },
  ],
  [
    'rediss+cluster://user:p%40%2Fss@a/',
    { kind: 'cluster', nodes: [{ host: 'a', port: 6379 }], login, hasTls: true },
  ],
])('%s is read', ([text, address]) => {
  expect(parseRedisUrl(text)).toEqual(address)
})

test.for([
  ['localhost:6379', 'has to be a URL, e.g. redis://'],
  ['http://localhost', 'has to be a URL, e.g. redis://'],
  ['redis://a:6379,b:6379', 'has to be a URL, e.g. redis://'],
  ['http+cluster://a', 'has to be a URL, e.g. redis+cluster://'],
  ['redis+sentinel:a', 'has to be a URL, e.g. redis+sentinel://'],
  ['redis+sentinel://a,b', 'has to name the master after the hosts, e.g. redis+sentinel://'],
  ['redis+sentinel://a/m/x', 'has to end with the master or its database'],
  ['redis+sentinel://a/m/1/2', 'has to end with the master or its database'],
  ['redis+sentinel://a,,b/m', 'has no host and port at number 2 of the list'],
  ['redis+sentinel://', 'has no host and port at number 1 of the list'],
  [
    'redis+sentinel://a/m?family=6',
    'no other option after the ? than commandTimeout, sentinelUsername, sentinelPassword',
  ],
  ['redis+sentinel://a/m?sentinelUsername=u', 'has a sentinelUsername without a sentinelPassword, e.g.'],
  ['redis+cluster://a:0', 'has no host and port at number 1 of the list'],
  ['redis+cluster://a,b:65536', 'has no host and port at number 2 of the list'],
  ['redis+cluster://a,redis://b', 'has no host and port at number 2 of the list'],
  ['redis+cluster://a/1', 'has to end after the hosts: a Cluster has no databases'],
  ['redis+cluster://a?sentinelPassword=x', 'no other option after the ? than commandTimeout, e.g.'],
  ['redis+cluster://u:%zz@a', 'has a % that is no escape: write it as %25'],
] as const)('%s is refused: %s', ([text, fault]) => {
  expect(() => parseRedisUrl(text)).toThrow(fault)
})
