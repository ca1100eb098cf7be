import { expect, test } from 'vitest'
import {
  anyContact,
  contactIssue,
  contactKinds,
  contactTypes,
  erasedContactValue,
  maskContact,
  parseContact,
  wholeContact,
} from '../../../../src/core/contacts/contact.ts'
import { deliveryOrder, deliveryStates } from '../../../../src/core/receipts/receipt.ts'

test.each([
  ['phone', '0049 151 12345678', '+4915112345678'],
  ['email', 'Jane@Example.com', 'Jane@example.com'],
  ['phone', 'jane@example.com', undefined],
  ['email', '+4915112345678', undefined],
] as const)('a %s contact %j is %s', (type, value, parsed) => {
  expect(contactKinds[type].parse(value)).toBe(parsed)
})

test.each([
  ['phone', '+15550100101', '+15*******01'],
  ['phone', '+4915112345678', '+49*********78'],
  ['phone', '+1234567', '+12***67'],
  ['phone', '+123456789012345', '+12***********45'],
  ['email', 'a@example.com', 'a***@example.com'],
  ['email', 'jane.doe@example.com', 'j***@example.com'],
] as const)('a %s contact %s is shown as %s', (type, value, masked) => {
  expect(maskContact({ type, value })).toBe(masked)
})

test('a masked phone number keeps its length and shows at most four digits', () => {
  for (let length = 7; length <= 15; length++) {
    const value = `+${'123456789012345'.slice(0, length)}`
    const masked = maskContact({ type: 'phone', value })
    expect(masked).toHaveLength(value.length)
    expect(masked.replace(/[^0-9]/g, '')).toHaveLength(4)
  }
})

test('the mask of an address hides the length of its local part', () => {
  expect(maskContact({ type: 'email', value: 'jo@example.com' })).toBe(
    maskContact({ type: 'email', value: 'josephine.baker@example.com' }),
  )
})

test('the mask of an erased contact says so, and no valid contact looks like it', () => {
  for (const type of contactTypes) {
    expect(maskContact({ type, value: erasedContactValue })).toBe('erased')
    expect(contactKinds[type].parse(erasedContactValue)).toBeUndefined()
  }
})

test.each(contactTypes)(
  'a value of %s is of no other kind, so that the kind follows from the value',
  (type) => {
    const { example, pattern } = contactKinds[type]
    expect(parseContact(example)).toEqual({ type, value: example })
    expect(contactTypes.filter((other) => contactKinds[other].parse(example) !== undefined)).toEqual([type])
    expect(new RegExp(pattern, 'u').test(example)).toBe(true)
  },
)

test('a value of no kind is no contact, and each kind has a name', () => {
  expect(parseContact('Ann')).toBeUndefined()
  expect(anyContact).toBe('a phone number or an e-mail address')
  expect(wholeContact).toBe('Whole phone number or e-mail address')
})

test.each([
  ['ann@example', 'has to be an e-mail address'],
  ['0151 12345678', 'country code'],
  ['ann.1@example', 'has to be an e-mail address'],
  ['Ann', `has to be ${anyContact}`],
])('the issue of %j is that of the kind that was meant: %s', (text, issue) => {
  expect(contactIssue(text)).toContain(issue)
})

test.each(contactTypes)('a state of a delivery changes in the order of its kind: %s', (type) => {
  const order = deliveryOrder[type]
  expect([...order].sort()).toEqual([...deliveryStates].sort())
  expect(order.indexOf('undelivered') > order.indexOf('read')).toBe(contactKinds[type].mayFailOnceDelivered)
})
