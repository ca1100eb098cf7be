import { expect, test } from 'vitest'
import { providerMessageIdsIn } from '../../../../src/core/receipts/provider-message-id.ts'

test.each([
  ['as it is', 'SM1234567890', ['SM1234567890']],
  ['with white space around it', ' \tSM1234567890\r\n', ['SM1234567890']],
  ['of WhatsApp, which ends in a sign that is part of it', 'wamid.HBgNNDkx=', ['wamid.HBgNNDkx=']],
  ['in quotes, with a comma', '"SM12345",', ['"SM12345",', 'SM12345']],
  ['in angle brackets, which may be part of it', '<a@b.example>', ['<a@b.example>', 'a@b.example']],
])('a provider’s message id is found %s', (_how, pasted, ids) => {
  expect(providerMessageIdsIn(pasted)).toEqual(ids)
})

test.each([
  ['nothing', ' '],
  ['words', 'where is my message?'],
  ['a few letters', 'SM1'],
  ['what is longer than any', 'x'.repeat(513)],
  ['what PostgreSQL can’t hold', 'SM\x0a3456'],
])('none in %s', (_what, pasted) => {
  expect(providerMessageIdsIn(pasted)).toEqual([])
})
