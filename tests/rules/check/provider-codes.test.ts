import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { twilioCodes } from '../../../src/core/providers/twilio-codes.ts'
import { whatsAppCodes } from '../../../src/core/providers/whatsapp-cloud-codes.ts'

/** The codes in the rows of `outcome`, `fault` and codes. */
function documented(provider: string): string[] {
  const page = readFileSync(`docs/reference/providers/${provider}.md`, 'utf8')
  return [...page.matchAll(/^\| `(\w+)` \| `(\w+)` \| (.*) \|$/gm)].flatMap(
    ([, outcome, fault, codes = '']) =>
      [...codes.matchAll(/\d+/g)].map(([code]) => `${code} ${outcome} ${fault}`),
  )
}

test.each([
  ['twilio', twilioCodes],
  ['whatsapp-cloud', whatsAppCodes],
])('docs/reference/providers/%s.md lists each code once, under its outcome and fault', (provider, codes) => {
  const known = Object.entries(codes).map(([code, { outcome, fault }]) => `${code} ${outcome} ${fault}`)
  expect(documented(provider).sort()).toEqual(known.sort())
})
