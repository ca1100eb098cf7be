import { once } from 'node:events'
import { type AddressInfo, connect, createServer } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { keyPrefix } from '../../src/core/sends/send-job.ts'
import { createLogger } from '../../src/platform/log/logger.ts'
import { createMetrics } from '../../src/platform/metrics.ts'
import { parseRedisUrl } from '../../src/platform/redis/address.ts'
import { connectForAdmin, connectForRequests, readyWithin } from '../../src/platform/redis/redis.ts'
import { withTimeouts } from '../support/service.ts'
import { freshRedis } from '../support/stores.ts'
import { eventually } from '../support/wait.ts'

const connecting = (url: string, log = createLogger('silent')) => ({
  ...{ address: parseRedisUrl(url), name: '0', prefix: keyPrefix },
  ...{ log, metrics: createMetrics('api') },
})

test.concurrent('the commands of one turn of the event loop are written together, also after a reconnect', async ({
  onTestFinished,
}) => {
  const redisUrl = await freshRedis()
  const redis = connectForRequests(connecting(withTimeouts(redisUrl)))
  onTestFinished(() => redis.disconnect())
  for (const _ of ['first', 'second']) {
    await readyWithin(redis, 20_000)
    const { stream } = redis
    const answers = Array.from({ length: 10 }, (_, i) => redis.set(`name-${i}`, i))
    expect(stream.writableCorked).toBe(1)
    expect(await Promise.all(answers)).toEqual(Array(10).fill('OK'))
    expect(stream.writableCorked).toBe(0)
    const lost = once(redis, 'close')
    stream.destroy()
    await lost
  }
})

test.concurrent.for(['', '?commandTimeout=200'])(
  'the admin process gives up what Redis does not answer%s',
  async (ofUrl, { onTestFinished }) => {
    const redisUrl = await freshRedis()
    const redis = connectForAdmin(connecting(redisUrl + ofUrl))
    onTestFinished(() => redis.disconnect())
    await readyWithin(redis, 20_000)
    const waitsForEver = 0
    // A busy machine may lose the connection before the command is written.
    await eventually('it is given up', async () => {
      const reason = await redis.blpop('a list that is empty', waitsForEver).catch(({ message }) => message)
      expect(reason).toMatch(/^(Command timed out|Stream isn't writeable)/)
      return reason === 'Command timed out'
    })
  },
)

test.concurrent('a connection on which Redis stops answering is replaced, and logged', async ({
  onTestFinished,
}) => {
  const redisUrl = await freshRedis()
  const { hostname: host, port } = new URL(redisUrl)
  let connections = 0
  const silentAtFirst = createServer((socket) => {
    socket.on('error', () => {})
    if (++connections > 1) socket.pipe(connect({ host, port: Number(port) })).pipe(socket)
  }).listen(0, '127.0.0.1')
  await once(silentAtFirst, 'listening')
  const url = new URL(redisUrl)
  url.port = String((silentAtFirst.address() as AddressInfo).port)
  const lines: string[] = []
  const log = createLogger('info', { write: (line) => lines.push(line) })
  const redis = connectForRequests(connecting(withTimeouts(url.href), log))
  onTestFinished(() => {
    redis.disconnect()
    silentAtFirst.close()
  })
  await eventually('it is ready', async () => redis.status === 'ready')
  expect(await redis.ping()).toBe('PONG')
  const events = lines.map((line) => JSON.parse(line))
  expect(events).toMatchObject([
    { event: 'redis_away', reason: 'Redis accepts connections, but does not answer' },
    { event: 'redis_back' },
  ])
})

/** A connection that was given up is opened again sooner. */
const longerThanReopeningMs = 800

/** Answers no client. */
const unreachable = 'redis+sentinel://127.0.0.1:1/master'

test.concurrent('a connection that ioredis has given up for good is opened again, unless the process has closed it', async ({
  onTestFinished,
}) => {
  const events: string[] = []
  const log = createLogger('info', { write: (line) => events.push(JSON.parse(line).event) })
  const redis = connectForRequests(connecting(unreachable, log))
  onTestFinished(() => redis.disconnect())
  await eventually('the Sentinels were asked', async () => events.includes('redis_away'))
  // As a closed connection does while Sentinels are asked.
  const { connector } = redis as unknown as { connector: { disconnect(): void } }
  connector.disconnect()
  await eventually('it is opened again', async () => redis.status === 'connecting' && events.length > 1)
  redis.disconnect()
  await eventually('it is closed', async () => redis.status === 'end')
  expect(events).toEqual(['redis_away', 'redis_connection_ended'])
})

test.concurrent('a connection that is closed while it is being opened stays closed', async ({
  onTestFinished,
}) => {
  const events: string[] = []
  const log = createLogger('info', { write: (line) => events.push(JSON.parse(line).event) })
  const redis = connectForRequests(connecting(await freshRedis(), log))
  onTestFinished(() => redis.disconnect())
  redis.disconnect()
  await eventually('it is closed', async () => redis.status === 'end')
  await sleep(longerThanReopeningMs)
  expect([redis.status, events]).toEqual(['end', []])
})
