import { expect, test } from 'vitest'
import { unknownCodes } from '../../../src/providers/unknown-codes.ts'

test('codes that no table of the provider knows are listed once each, the most frequent first', () => {
  const counted = [
    { code: '40300', sends: 7 },
    { code: '49998', sends: 1 },
    { code: '49999', sends: 2 },
    { code: '49999', sends: 3 },
    { code: '', sends: 9 },
    { code: '503', sends: 9 },
    { code: 'constructor', sends: 1 },
  ]
  expect(unknownCodes('telnyx', counted)).toEqual([
    { code: '49999', sends: 5 },
    { code: '49998', sends: 1 },
    { code: 'constructor', sends: 1 },
  ])
})

test.each(['webhook', 'sandbox', 'removed'])('a provider without tables has no unknown codes: %s', (name) => {
  expect(unknownCodes(name, [{ code: 'E1', sends: 1 }])).toEqual([])
})
