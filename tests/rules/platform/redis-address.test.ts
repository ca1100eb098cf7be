import { expect, test } from 'vitest'
import { parseRedisUrl } from '../../../src/platform/redis-address.ts'

const plain = { hasTls: false, options: {} }

test.for([
  ['redis://localhost:6379', { kind: 'single', url: 'redis://localhost:6379' }],
  ['rediss://:p%40ss@cache.example.com/3', { kind: 'single', url: 'rediss://:p%40ss@cache.example.com/3' }],
  [
    'redis+sentinel://a:26379,b,[::1]:26381/mymaster',
    {
      ...plain,
      kind: 'sentinel',
      master: 'mymaster',
      database: 0,
      sentinels: [
        { host: 'a', port: 26_379 },
        { host: 'b', port: 26_379 },
        { host: '::1', port: 26_381 },
      ],
    },
  ],
  [
    'redis+sentinel://user:p%40%2Fss@a:1/my-master/2?commandTimeout=500',
    {
      kind: 'sentinel',
      master: 'my-master',
      database: 2,
      sentinels: [{ host: 'a', port: 1 }],
      username: 'user',
      password: 'p@/ss',
      hasTls: false,
      options: { commandTimeout: '500' },
    },
  ],
  ['redis+sentinel://:pass@a/m', { ...plain, kind: 'sentinel', master: 'm', database: 0, sentinels: [{ host: 'a', port: 26_379 }], password: 'pass' }],
  ['redis+cluster://a,b:7000', { ...plain, kind: 'cluster', nodes: [{ host: 'a', port: 6379 }, { host: 'b', port: 7000 }] }],
  ['rediss+cluster://u:p@a/', { kind: 'cluster', nodes: [{ host: 'a', port: 6379 }], username: 'u', password: 'p', hasTls: true, options: {} }],
] as const)('%s is read', ([text, address]) => {
  expect(parseRedisUrl(text)).toEqual(address)
})

test.for([
  ['localhost:6379', 'has to be a URL, e.g. redis://'],
  ['http://localhost', 'has to be a URL, e.g. redis://'],
  ['redis://a:6379,b:6379', 'has to be a URL, e.g. redis://'],
  ['redis+sentinel://a,b', 'has to name the master after the hosts, e.g. redis+sentinel://'],
  ['redis+sentinel://a/m/x', 'has to end with the master or its database'],
  ['redis+sentinel://a/m/1/2', 'has to end with the master or its database'],
  ['redis+sentinel://a,,b/m', 'has no host and port where it says ""'],
  ['redis+sentinel://', 'has no host and port where it says ""'],
  ['redis+cluster://a:0', 'has no host and port where it says "a:0"'],
  ['redis+cluster://a:65536', 'has no host and port where it says "a:65536"'],
  ['redis+cluster://a,redis://b', 'has no host and port where it says "redis:"'],
  ['redis+cluster://a/1', 'a Cluster has no databases: end it after the hosts'],
  ['redis+cluster://u:%zz@a', 'has a % that is no escape: write %25'],
])('%s is refused: %s', ([text, fault]) => {
  expect(() => parseRedisUrl(text)).toThrow(fault)
})
