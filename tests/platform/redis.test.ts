import { once } from 'node:events'
import { expect, onTestFinished, test } from 'vitest'
import { createLogger } from '../../src/platform/logger.ts'
import { connectForRequests, readyWithin } from '../../src/platform/redis.ts'
import { withPatience } from '../support/service.ts'
import { freshStores } from '../support/stores.ts'

test('the commands of one turn wait for its end, to be written together, also on a connection made anew', async () => {
  const { redisUrl } = await freshStores()
  const redis = connectForRequests(withPatience(redisUrl), createLogger('silent'))
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
