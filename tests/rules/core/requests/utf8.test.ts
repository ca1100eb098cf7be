import { expect, test } from 'vitest'
import { firstOddLine, utf8Text } from '../../../../src/core/requests/utf8.ts'

test('bytes of Windows-1252 and UTF-16 are no text, and their first line is named', () => {
  const file = Buffer.from('contact\r\nann@example.com\r\nauf Wunsch gel\u00f6scht\r\n', 'latin1')
  expect(utf8Text(file)).toBeUndefined()
  expect(firstOddLine(file)).toBe(3)
  const wide = Buffer.from('\ufeffcontact\n', 'utf16le')
  expect(utf8Text(wide)).toBeUndefined()
  expect(firstOddLine(wide)).toBe(1)
  expect(utf8Text(Buffer.from('\ufeffgelöscht 😀'))).toBe('\ufeffgelöscht 😀')
})
