import { expect, test } from 'vitest'
import { readListQuery, writeCursor } from '../../../../src/core/requests/list-query.ts'

const read = (query: string) => readListQuery(new URLSearchParams(query))

test('without parameters, it is the first page of 20', () => {
  expect(read('')).toEqual({ query: { limit: 20 } })
})

test('each parameter is read, and the contact normalised', () => {
  const id = '01a1fde3-04b0-709e-bec0-b940cc7af3c0'
  const after = { acceptedAtMicros: '1795446371369123', requestId: id }
  const query = new URLSearchParams({
    limit: '100',
    after: writeCursor(after),
    status: 'canceled',
    channelId: id,
    flowId: 'anything',
    contact: '0049 (151) 12345678',
    reference: 'order-4711',
    providerCode: '131026',
    acceptedFrom: '2026-11-24T09:00:00+01:00',
    acceptedTo: '2026-11-24T09:00:00Z',
  })
  expect(readListQuery(query)).toEqual({
    query: {
      limit: 100,
      after,
      status: 'canceled',
      channelId: id,
      flowId: 'anything',
      contact: { type: 'phone', value: '+4915112345678' },
      reference: 'order-4711',
      providerCode: '131026',
      acceptedFrom: new Date('2026-11-24T08:00:00Z'),
      acceptedTo: new Date('2026-11-24T09:00:00Z'),
    },
  })
})

test.each([
  ['limit=0', 'limit'],
  ['limit=101', 'limit'],
  ['limit=1.5', 'limit'],
  ['limit=', 'limit'],
  ['after=x', 'after'],
  [`after=${'_'.repeat(32)}`, 'after'],
  ['status=delivered', 'status'],
  ['contact=nobody', 'contact'],
  ['acceptedFrom=yesterday', 'acceptedFrom'],
  ['acceptedTo=2026-11-24', 'acceptedTo'],
  ['reference=%00', 'reference'],
  ['providerCode=%00', 'providerCode'],
  ['providerCode=1&providerCode=2', 'providerCode'],
  ['limit=5&limit=5', 'limit'],
  ['Limit=5', 'Limit'],
  ['page=2', 'page'],
  ['__proto__=y', '__proto__'],
])('%s is refused by its name', (query, name) => {
  const result = read(query)
  expect('issue' in result && result.issue).toMatch(new RegExp(`^${name}: `))
})

test('all faulty parameters are named at once', () => {
  const result = read('limit=0&page=2&status=x&contact=a&contact=b')
  const names = 'issue' in result ? result.issue.split('; ').map((line) => line.split(':')[0]) : []
  expect(names.sort()).toEqual(['contact', 'contact', 'limit', 'page', 'status'])
})
