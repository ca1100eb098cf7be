import { expect, test } from 'vitest'
import { UnknownIdPage } from '../../../src/admin/support/unknown-id-page.tsx'

const unknown = { why: 'The text contains no requestId.', next: [] }
const input = { messageId: 'SMf00d0002' }

test('if only some sends were searched for a provider message id, the page says that none of those has it, not that none has', () => {
  const page = { sends: [], olderThan: 'a', lookedBackTo: new Date() }
  const html = String(UnknownIdPage({ pasted: '', unknown, looked: { input, page } }))
  expect(html).toContain('None of the newest 100,000 sends has it as its provider message id.')
  expect(html).not.toContain('No send has it')
  expect(html).toMatch(/name="before" value="a".*Search further back/s)
})

test('if all sends were searched, the page says that no send has it', () => {
  const html = String(UnknownIdPage({ pasted: '', unknown, looked: { input, page: { sends: [] } } }))
  expect(html).toContain('No send has it as its provider message id.')
  expect(html).not.toContain('Search further back')
})
