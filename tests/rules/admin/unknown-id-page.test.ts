import { expect, test } from 'vitest'
import { UnknownIdPage } from '../../../src/admin/support/unknown-id-page.tsx'

const unknown = { why: 'The text contains no requestId.', next: [] }
const input = { messageId: 'SMf00d0002' }

test('a provider message id that is among none of the sends that were looked at is said to be in none of those, not in none', () => {
  const page = { sends: [], olderThan: 'a', lookedBackTo: new Date() }
  const html = String(UnknownIdPage({ pasted: '', unknown, looked: { input, page } }))
  expect(html).toContain('None of the newest 100,000 sends has it as its provider message id.')
  expect(html).not.toContain('No send has it')
})

test('where all were looked at, no send has it', () => {
  const html = String(UnknownIdPage({ pasted: '', unknown, looked: { input, page: { sends: [] } } }))
  expect(html).toContain('No send has it as its provider message id.')
})
