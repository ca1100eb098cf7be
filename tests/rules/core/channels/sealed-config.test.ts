import { randomBytes } from 'node:crypto'
import { expect, test } from 'vitest'
import { isSealedWith, openConfig, sealConfig } from '../../../../src/core/channels/sealed-config.ts'

const key = randomBytes(32)
const channelId = '01890000-0000-7000-8000-000000000000'
const config = { accessToken: 'a very secret token', nested: { list: [1, 'ü', null] } }

test('a sealed config opens as it was', () => {
  for (const each of [config, {}, { text: '😀'.repeat(1000) }]) {
    expect(openConfig(sealConfig(each, channelId, key), channelId, [key])).toEqual(each)
  }
})

test('a sealed config shows nothing of the config', () => {
  const sealed = sealConfig(config, channelId, key)
  const payload = Buffer.from(sealed.split('.')[3] ?? '', 'base64url').toString('latin1')
  for (const text of [sealed, payload]) expect(text).not.toMatch(/secret|accessToken|token/)
})

test('it names its version and its key', () => {
  expect(sealConfig(config, channelId, key)).toMatch(
    /^v1\.[A-Za-z0-9_-]{8}\.[A-Za-z0-9_-]{16}\.[A-Za-z0-9_-]+$/,
  )
  const names = [key, key, randomBytes(32)].map((each) => sealConfig({}, channelId, each).split('.')[1])
  expect(names[0]).toBe(names[1])
  expect(names[0]).not.toBe(names[2])
})

test('the same config is never sealed alike', () => {
  const sealed = Array.from({ length: 100 }, () => sealConfig(config, channelId, key))
  expect(new Set(sealed).size).toBe(sealed.length)
})

test('it does not open in the row of another channel', () => {
  const sealed = sealConfig(config, channelId, key)
  expect(() => openConfig(sealed, '01890000-0000-7000-8000-000000000001', [key])).toThrow()
})

test('the error for another key names the key, and says what to do', () => {
  const sealed = sealConfig(config, channelId, key)
  const name = sealed.split('.')[1]
  expect(() => openConfig(sealed, channelId, [randomBytes(32)])).toThrow(
    new RegExp(`${channelId}.*another key \\(${name}\\).*CREDENTIALS_KEY`),
  )
})

test('of several keys the one that sealed it opens it', () => {
  const [current, previous] = [randomBytes(32), randomBytes(32)]
  for (const by of [current, previous]) {
    const sealed = sealConfig(config, channelId, by)
    expect(openConfig(sealed, channelId, [current, previous])).toEqual(config)
    expect(isSealedWith(sealed, by)).toBe(true)
    expect(isSealedWith(sealed, by === current ? previous : current)).toBe(false)
    expect(() => openConfig(sealed, channelId, [])).toThrow()
  }
})

test('a change of any byte is noticed', () => {
  const sealed = sealConfig({ a: 1 }, channelId, key)
  const [version, keyName, nonce = '', payload = ''] = sealed.split('.')
  const changed = (text: string) =>
    Array.from(Buffer.from(text, 'base64url'), (_, at) => {
      const bytes = Buffer.from(text, 'base64url')
      bytes[at] = (bytes[at] ?? 0) ^ 1
      return bytes.toString('base64url')
    })
  const forged = [
    ...changed(nonce).map((other) => [version, keyName, other, payload]),
    ...changed(payload).map((other) => [version, keyName, nonce, other]),
  ]
  expect(forged.length).toBeGreaterThan(30)
  for (const parts of forged) expect(() => openConfig(parts.join('.'), channelId, [key])).toThrow()
})

test.each(['', 'v1', '{}', 'v2.x.y.z'])('%j is refused', (sealed) => {
  expect(() => openConfig(sealed, channelId, [key])).toThrow()
})

test('a payload cut short to its tag or less is refused', () => {
  const parts = sealConfig(config, channelId, key).split('.')
  for (const length of [0, 1, 4, 8, 12, 15, 16]) {
    const payload = Buffer.from(parts[3] ?? '', 'base64url').subarray(-length || Number.POSITIVE_INFINITY)
    const cut = [...parts.slice(0, 3), payload.toString('base64url')].join('.')
    expect(() => openConfig(cut, channelId, [key]), `${length} bytes`).toThrow()
  }
})

test('no fault names anything of the config', () => {
  const sealed = sealConfig(config, channelId, key)
  const attempts = [
    () => openConfig(sealed, 'other', [key]),
    () => openConfig(sealed, channelId, [randomBytes(32)]),
    () => openConfig(`${sealed.slice(0, -4)}AAAA`, channelId, [key]),
  ]
  for (const attempt of attempts) {
    expect(attempt).toThrow()
    try {
      attempt()
    } catch (error) {
      expect(String(error)).not.toMatch(/secret|token/i)
    }
  }
})
