import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { resendCodes } from '../../../src/providers/resend/codes.ts'
import type { CodeTable } from '../../../src/providers/shared/code-table.ts'
import { twilioCodes } from '../../../src/providers/twilio/codes.ts'
import { vonageCodes } from '../../../src/providers/vonage/codes.ts'
import { whatsAppCodes } from '../../../src/providers/whatsapp-cloud/codes.ts'

/** The codes in the rows of `outcome`, `fault` and codes. */
function documented(provider: string, form: RegExp): string[] {
  const page = readFileSync(`docs/reference/providers/${provider}.md`, 'utf8')
  return [...page.matchAll(/^\| `(\w+)` \| `(\w+)` \| (.*) \|$/gm)].flatMap(
    ([, outcome, fault, codes = '']) =>
      [...codes.matchAll(form)].map(([code]) => `${code.replaceAll('`', '')} ${outcome} ${fault}`),
  )
}

const { invalid_idempotent_request: _, ...resendOthers } = resendCodes

const tables: [string, CodeTable, RegExp, string[]][] = [
  ['twilio', twilioCodes, /\d+/g, []],
  ['whatsapp-cloud', whatsAppCodes, /\d+/g, []],
  ['vonage', vonageCodes, /\d+|`[a-z-]+`/g, []],
  // An earlier attempt of such a send may have got through.
  ['resend', resendOthers, /`[a-z_]+`/g, ['invalid_idempotent_request uncertain message']],
]

test.each(tables)(
  'docs/reference/providers/%s.md lists each code once, under its outcome and fault',
  (provider, codes, form, others) => {
    const known = Object.entries(codes).map(([code, { outcome, fault }]) => `${code} ${outcome} ${fault}`)
    expect(documented(provider, form).sort()).toEqual([...known, ...others].sort())
  },
)

test('each provider with codes is among them', () => {
  const withCodes = readdirSync('src/providers').filter((name) =>
    existsSync(`src/providers/${name}/codes.ts`),
  )
  expect(tables.map(([provider]) => provider).sort()).toEqual(withCodes.sort())
})
