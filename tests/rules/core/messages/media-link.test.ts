import { expect, test } from 'vitest'
import { mintMediaLink, readMediaToken } from '../../../../src/core/messages/media-link.ts'

const key = Buffer.alloc(32, 7)
const requestId = '01890000-0000-7000-8000-000000000000'
const expiresAt = new Date('2026-01-01T00:10:00Z')
const before = new Date('2026-01-01T00:09:59Z')

const tokenOf = (link: string) => link.slice(link.lastIndexOf('/') + 1)
const token = tokenOf(mintMediaLink('https://example.com', requestId, expiresAt, key))

test('a link leads to its send until it expires', () => {
  expect(readMediaToken(token, [key], before)).toBe(requestId)
  expect(readMediaToken(token, [key], expiresAt)).toBeUndefined()
  expect(readMediaToken(token, [key], new Date('2026-01-01T00:10:01Z'))).toBeUndefined()
})

test.each(['https://example.com', 'https://example.com/', 'https://example.com/base//'])(
  'a link below %s has one slash before media, and nothing to be escaped',
  (publicBaseUrl) => {
    const link = mintMediaLink(publicBaseUrl, requestId, expiresAt, key)
    expect(link).toBe(`${publicBaseUrl.replace(/\/+$/, '')}/media/${token}`)
    expect(new URL(link).href).toBe(link)
    expect(token).toMatch(/^[\w.-]+$/)
  },
)

test('a link signed with another key is invalid', () => {
  expect(readMediaToken(token, [Buffer.alloc(32, 8)], before)).toBeUndefined()
})

test('a token with any one character altered, or cut anywhere, is invalid', () => {
  for (let index = 0; index < token.length; index++) {
    const altered = `${token.slice(0, index)}${token[index] === '1' ? '2' : '1'}${token.slice(index + 1)}`
    expect(readMediaToken(altered, [key], before), altered).toBeUndefined()
    expect(readMediaToken(token.slice(0, index), [key], before)).toBeUndefined()
  }
})

test.each(['', '.', '..', '...', `${token}.`, `${token}.x`, `.${token}`, ` ${token}`, `${token}=`, '😀.1.x'])(
  '%j is no token',
  (given) => expect(readMediaToken(given, [key], before)).toBeUndefined(),
)

test("a later expiry, or another send, can't borrow the signature", () => {
  const [, expiry = '', signature = ''] = token.split('.')
  const other = requestId.replace('01', '02')
  expect(readMediaToken(`${requestId}.${Number(expiry) + 1}.${signature}`, [key], before)).toBeUndefined()
  expect(readMediaToken(`${other}.${expiry}.${signature}`, [key], before)).toBeUndefined()
  expect(
    readMediaToken(`${requestId}${expiry[0]}.${expiry.slice(1)}.${signature}`, [key], before),
  ).toBeUndefined()
})
