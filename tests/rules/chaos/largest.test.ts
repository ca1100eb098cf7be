import { expect, test } from 'vitest'
import { largest } from '../../chaos/phase.ts'

test('the largest of more values than a function may have arguments', () => {
  expect(largest(Array.from({ length: 1_000_000 }, (_, index) => index % 777))).toBe(776)
  expect(largest([])).toBe(0)
})
