import { expect, test } from 'vitest'
import { shortageOf } from '../../../../src/core/sends/own-shortage.ts'

const online = { isOnline: true } as const
const clients = { givenBy: 'clients', isOnline: true } as const

test.each(['EMFILE', 'ENFILE', 'EADDRNOTAVAIL', 'ENOBUFS', 'ENOMEM', 'ENETUNREACH', 'ENETDOWN'])(
  "%s is the machine's own shortage, named and with what to do",
  (code) => {
    const shortage = shortageOf({ code }, online)
    expect(shortage?.reason).toMatch(new RegExp(`^the (worker|machine)\\b.* \\(${code}\\)$`))
    expect(shortage?.advice).toMatch(/^(raise|widen|give|check) /)
  },
)

test.each(['ECONNREFUSED', 'ECONNRESET', 'EHOSTUNREACH', 'ENOTFOUND', 'EAI_AGAIN', undefined])(
  '%s is not',
  (code) => expect(shortageOf({ code }, online)).toBeUndefined(),
)

test('of several addresses, all have to fail for a shortage', () => {
  const errors = [{ code: 'ENETUNREACH', address: '2001:db8::1' }, { code: 'ECONNREFUSED' }]
  expect(shortageOf({ code: 'ENETUNREACH', errors }, online)).toBeUndefined()
  expect(
    shortageOf({ code: 'EMFILE', errors: [{ code: 'EMFILE' }, { code: 'EMFILE' }] }, online),
  ).toBeDefined()
})

test("an address of a client's URL to which there is no route fails the call, unless the machine has no network", () => {
  const error = { code: 'ENETUNREACH', address: '2001:db8::1' }
  expect(shortageOf(error, clients)).toBeUndefined()
  expect(shortageOf({ code: 'EADDRNOTAVAIL', address: '2001:db8::1' }, clients)).toBeUndefined()
  expect(shortageOf(error, { ...clients, isOnline: false })?.reason).toContain('no route')
  expect(shortageOf({ code: 'EADDRNOTAVAIL', address: '203.0.113.5' }, clients)).toBeDefined()
  expect(shortageOf({ errors: [error, { code: 'EMFILE' }] }, clients)?.reason).toContain('EMFILE')
})
