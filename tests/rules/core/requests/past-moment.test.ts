import { expect, test } from 'vitest'
import { resendSchema } from '../../../../src/core/callbacks/endpoint-request.ts'
import { parsePastMoment } from '../../../../src/core/requests/past-moment.ts'

test.each([
  '2026-11-24T09:00:00Z',
  '2026-11-24t09:00:00z',
  '2026-11-24T09:00Z',
  '2026-11-24t10:00+01:00',
  '2026-11-24T10:00:00.000+01:00',
])('%s is 9:00 UTC in a command and in a body', (text) => {
  const nine = new Date('2026-11-24T09:00:00Z')
  expect(parsePastMoment(text)).toEqual(nine)
  expect(resendSchema.parse({ since: text }).since).toEqual(nine)
})

test.each(['', '2026-11-24', '2026-02-30T09:00:00Z', '1w', '2026-11-24T09:00:00'])(
  '%j is neither a time with its offset nor a duration',
  (text) => {
    expect(parsePastMoment(text)).toBeUndefined()
  },
)
