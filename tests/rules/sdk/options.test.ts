import { expect, test } from 'vitest'
import { Client, type ClientOptions } from '../../../sdk/typescript/src/index.ts'

const options = { baseUrl: 'http://127.0.0.1', apiKey: 'omk_x', retryDelayMs: 1 }

test('an option that is undefined is as if it was left out', async () => {
  let attempts = 0
  const lose: typeof fetch = async () => {
    attempts++
    throw new TypeError('fetch failed')
  }
  const unset = { retries: undefined, timeoutMs: undefined, maxRetryAfterSeconds: undefined }
  const client = new Client({ ...options, ...unset, fetch: lose } as unknown as ClientOptions)
  await expect(client.getKey()).rejects.toMatchObject({ name: 'ConnectionError' })
  expect(attempts).toBe(6)
})

test('a body that is no JSON is a mistake of the caller: nothing is tried', async () => {
  let attempts = 0
  const count: typeof fetch = async () => {
    attempts++
    return Response.json({})
  }
  const client = new Client({ ...options, fetch: count })
  await expect(client.sendMessage({ channelId: 1n } as never)).rejects.toBeInstanceOf(TypeError)
  expect(attempts).toBe(0)
})
