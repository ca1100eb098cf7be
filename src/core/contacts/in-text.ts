import { parseEmail } from './email.ts'
import { parseStoredPhone, phoneSeparators } from './phone.ts'

/** As a link or a form has them. */
const encoded: [RegExp, string][] = [
  [/%40/g, '@'],
  [/%2b/gi, '+'],
]

/** Texts with as many digits as a number that are none: ids, dates, times. */
const otherDigits = [
  /[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}/gi,
  /\b\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d(?::\d\d(?:[.,]\d{1,9})?)?)?/g,
  /\b\d{1,2}[./]\d{1,2}[./]\d{4}\b/g,
  /\b\d{1,2}:\d\d(?::\d\d(?:[.,]\d{1,9})?)?/g,
  /\b\d{1,3}(?:\.\d{1,3}){3}\b/g,
]

/** More than in the longest number, with its trunk zero. */
const maxDigits = 20
const separators = `[${phoneSeparators}/]{0,4}`
/** The sign in front, and the digits with what stands between them. Not a part of a word or an id, such as `SM4915…`. */
const run = new RegExp(
  String.raw`(?<![\p{L}\p{N}_])(?:\+${separators})?(?:[(\uff08]${separators})?\d(?:${separators}\d){5,${maxDigits}}(?![\p{L}\p{N}_@])`,
  'gu',
)
const maxGroups = 8
const isLocal = /^\(?0(?!0)/

/** The phone numbers in a text, as `+digits`. */
export const phonesIn = (text: string): string[] =>
  runsIn(text).flatMap((digits) => numbersIn(digits).slice(0, 1))

/** Where other digits may stand beside a number, as in `2 4915112345678`: the shorter numbers that it may be. */
export const possiblePhonesIn = (text: string): string[] => [
  ...new Set(runsIn(text).flatMap((digits) => numbersIn(digits).slice(1))),
]

/** Numbers as they are dialled within a country, such as `0151 12345678`: it isn't known whose they are. */
export const localNumbersIn = (text: string): string[] =>
  runsIn(text).filter((digits) => isLocal.test(digits))

function runsIn(text: string): string[] {
  const plain = otherDigits.reduce((left, pattern) => left.replaceAll(pattern, ' \n '), decoded(text))
  return [...plain.matchAll(run)].map(([found]) => found.trim())
}

/** The longest first. */
function numbersIn(digits: string): string[] {
  if (isLocal.test(digits)) return []
  const groups = digits.split(/\s+/).slice(0, maxGroups)
  const hasSign = /^(?:\+|\(?00)/.test(digits)
  const spans = groups.flatMap((_, from) =>
    groups.slice(from).map((_group, more) => ({ from, to: groups.length - more })),
  )
  return spans
    .filter(({ from }) => from === 0 || !hasSign)
    .sort((a, b) => b.to - b.from - (a.to - a.from))
    .flatMap(({ from, to }) => parseStoredPhone(groups.slice(from, to).join(' ').replaceAll('/', ' ')) ?? [])
}

const address = /[A-Za-z0-9!#$%&'*+/=?^_`{|}~.-]{1,64}@[A-Za-z0-9.-]{1,255}/g

/** The e-mail addresses in a text, also in angle brackets, in quotes, or at the end of a sentence. */
export function addressesIn(text: string): string[] {
  return [...decoded(text).matchAll(address)].flatMap(([one]) => {
    const withStart = one.replace(/[.-]+$/, '')
    return parseEmail(withStart.replace(/^[^A-Za-z0-9]+/, '')) ?? parseEmail(withStart) ?? []
  })
}

const decoded = (text: string) =>
  encoded.reduce((left, [pattern, sign]) => left.replaceAll(pattern, sign), text.normalize('NFKC'))
