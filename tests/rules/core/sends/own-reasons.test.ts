import { expect, test } from 'vitest'
import { ownReasonOf, ownReasons } from '../../../../src/core/sends/own-reasons.ts'

/** As they are stored in sends of all releases. */
const stored: [key: keyof typeof ownReasons, reason: string][] = [
  ['expired', 'expired'],
  ['mediaGone', 'the media is no longer kept'],
  ['channelDeleted', 'its channel was deleted'],
  ['canceledInDoubt', 'canceled after an attempt that may have got through'],
  ['givenUp', 'given up: workers kept crashing on it'],
  ['providerAway', "the channel's provider kept failing; its last answer: the provider answered 503"],
]

test.each(stored)('a stored reason is recognised: %s', (key, reason) => {
  expect(ownReasonOf(reason)).toBe(key)
})

test('each own reason has a stored text here', () => {
  expect(stored.map(([key]) => key).toSorted()).toEqual(Object.keys(ownReasons).toSorted())
})

test.each(['', 'the provider answered 400', 'expired token', 'it says: expired'])(
  'a reason that an attempt left is not an own one: %j',
  (reason) => expect(ownReasonOf(reason)).toBeUndefined(),
)
