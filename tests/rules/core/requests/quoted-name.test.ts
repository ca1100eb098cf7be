import { expect, test } from 'vitest'
import { z } from 'zod'
import { describeIssues } from '../../../../src/core/requests/issues.ts'
import { createReadQuery, parsedText } from '../../../../src/core/requests/query.ts'
import { quotedName } from '../../../../src/core/requests/quoted-name.ts'

test.each([
  ['text', 'text'],
  ['größe', 'größe'],
  ['a\u001b[31mb', 'a\\u001b[31mb'],
  ['a\r\nb\tc\u0000', 'a\\u000d\\u000ab\\u0009c\\u0000'],
  ['\u0085\u009b', '\\u0085\\u009b'],
  ['\u202egnp\u2066\u200f\u061c', '\\u202egnp\\u2066\\u200f\\u061c'],
  ['\u2028\u2029\u200b\ufeff', '\\u2028\\u2029\\u200b\\ufeff'],
  ['\u{e0061}', '\\u{e0061}'],
  ['\ud800', '\ufffd'],
  [`${'a'.repeat(63)}😀`, `${'a'.repeat(63)}\ufffd`],
  ['x'.repeat(1000), 'x'.repeat(64)],
])('the name %j is repeated as %j', (name, quoted) => {
  expect(quotedName(name)).toBe(quoted)
})

// biome-ignore lint/suspicious/noControlCharactersInRegex: those that no message may have
const unsafe = /[\u0000-\u001f\u007f-\u009f\u200e\u200f\u202a-\u202e\u2066-\u2069]/

test.each(['\u001b[2J', '\n', '\u202e', '\u0007'])(
  'no message about a field named %j has its characters, of a body or of a query',
  (name) => {
    const { error } = z
      .strictObject({ a: z.strictObject({}) })
      .safeParse({ a: { [name]: 1 }, [name]: { [name]: 1 } })
    const read = createReadQuery({ a: { schema: parsedText((text) => text, 'x'), what: '' } })
    const query = read(
      new URLSearchParams([
        [name, '1'],
        [name, '2'],
      ]),
    )
    const messages = [describeIssues(error?.issues ?? []), 'issue' in query ? query.issue : '']
    for (const message of messages) {
      expect(message).toContain('\\u')
      expect(message).not.toMatch(unsafe)
    }
  },
)
