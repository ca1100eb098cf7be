import { expect, test } from 'vitest'
import { distinctTexts } from '../../../src/providers/shared/distinct-texts.ts'

test.each([
  [['Account locked', 'Account locked'], ['Account locked']],
  [['Business account locked', 'Business Account locked.'], ['Business account locked']],
  [['Account locked', 'Your account locked since May'], ['Your account locked since May']],
  [['Locked since May', 'locked'], ['Locked since May']],
  [
    ['Account locked', 'Ask support'],
    ['Account locked', 'Ask support'],
  ],
  [['Account locked', ''], ['Account locked']],
  [['', ''], ['']],
])('what a provider says twice is said once: %j', (texts, distinct) => {
  expect(distinctTexts(texts)).toEqual(distinct)
})
