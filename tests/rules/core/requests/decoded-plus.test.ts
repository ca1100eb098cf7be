import { expect, test } from 'vitest'
import { readListForm } from '../../../../src/admin/sends/list-form.ts'
import { accountLists } from '../../../../src/core/accounts/account-lists.ts'
import { readListQuery } from '../../../../src/core/requests/list-query.ts'

const contactOf = (read: object) =>
  (read as { query?: { contact?: { value: string } } }).query?.contact?.value

test.each([
  ['+4915112345678', '+4915112345678'],
  ['+49 (0)151 12345678', '+4915112345678'],
  ['+(49) 151 12345678', '+4915112345678'],
  ['%2B4915112345678', '+4915112345678'],
  ['4915112345678', '+4915112345678'],
  ['004915112345678', '+4915112345678'],
  ['+999999999999', '+999999999999'],
  ['ann+tag@example.com', 'ann+tag@example.com'],
  ['ann%2Btag@example.com', 'ann+tag@example.com'],
  ['ann+a+b@example.com', 'ann+a+b@example.com'],
  ['ann++b@example.com', 'ann++b@example.com'],
  ['+ann@example.com', '+ann@example.com'],
  ['(+49)15112345678', '+4915112345678'],
])('contact=%s in a URL is %s in every list', (written, value) => {
  const query = new URLSearchParams(`contact=${written}`)
  expect(contactOf(readListQuery(query))).toBe(value)
  expect(contactOf(accountLists.suppressions.readQuery(query))).toBe(value)
  const form = readListForm({ contact: query.get('contact') ?? '' })
  expect('form' in form && form.form.contact?.value).toBe(value)
})

test.each([
  '2026-11-24T10:00:00+01:00',
  '2026-11-24T10:00:00%2B01:00',
  '2026-11-24t09:00:00z',
  '2026-11-24t10:00:00+01:00',
])('acceptedFrom=%s in a URL is 9:00 UTC', (written) => {
  const nine = new Date('2026-11-24T09:00:00Z')
  const query = new URLSearchParams(`acceptedFrom=${written}`)
  expect(readListQuery(query)).toMatchObject({ query: { acceptedFrom: nine } })
  const form = readListForm({ acceptedFrom: query.get('acceptedFrom') ?? '' })
  expect(form).toMatchObject({ form: { acceptedFrom: nine } })
})
