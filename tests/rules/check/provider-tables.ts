import type { ChannelLimits, MediaLimits } from '../../../src/core/channels/provider.ts'
import { mediaTypes } from '../../../src/core/messages/message.ts'
import { causeOfSign, isOfChannel } from '../../../src/core/suppression/suppression.ts'
import type { Provider } from '../../../src/providers/define-provider.ts'
import type { KnownCode } from '../../../src/providers/shared/code-table.ts'
import { failureOfStatus } from '../../../src/providers/shared/http/status-failures.ts'

/** Tables for the docs, as Markdown, made of what a provider's code says. */

const row = (cells: readonly string[]) => `|${cells.map((cell) => (cell ? ` ${cell} |` : ' |')).join('')}`
const table = (head: readonly string[], rows: readonly (readonly string[])[]): string =>
  [row(head), `|${'---|'.repeat(head.length)}`, ...rows.map(row)].join('\n')

/** The limits of the rules, by the ways of sending if there are several. */
export function limitsTable(provider: Provider): string {
  const ways = Object.entries(provider.ways ?? { '': {} })
  const rulesOf = (way: ChannelLimits) => ({ ...provider, ...way })
  const cells = (what: string, cell: (rules: Provider) => string) => [
    what,
    ...ways.map(([, way]) => cell(rulesOf(way))),
  ]
  const media = mediaTypes.map((type) =>
    cells(`\`${type}\``, ({ messageTypes, media: limits }) =>
      messageTypes.includes('media') ? mediaInWords(limits?.[type]) : 'no',
    ),
  )
  return table(
    ['', ...ways.map(([name]) => name)],
    [
      cells('Contacts', ({ contactTypes }) => contactTypes.map((type) => `\`${type}\``).join(', ')),
      cells('Text', ({ maxTextCharacters }) => `at most ${maxTextCharacters} characters`),
      cells('Template', ({ messageTypes }) => (messageTypes.includes('template') ? 'yes' : 'no')),
      ...media,
    ],
  )
}

function mediaInWords(limits: MediaLimits | undefined): string {
  if (!limits) return 'any'
  const { mimetypes, base64Mimetypes, maxBytes, hasCaption, filenameIssue } = limits
  return [
    mimetypes ? mimetypes.map(shortType).join(', ') : 'any type',
    base64Mimetypes && `as \`base64\` ${base64Mimetypes.map(shortType).join(', ')}`,
    maxBytes !== undefined && `\`base64\` of at most ${maxBytes / 1024 / 1024} MiB`,
    !hasCaption && 'no `caption`',
    filenameIssue && 'not every `filename`',
  ]
    .filter(Boolean)
    .join('; ')
}

const shortType = (type: string) =>
  /^(image|audio|video)\//.test(type) ? type.replace(/^\w+\//, '') : `\`${type}\``

const outcomes: readonly KnownCode['outcome'][] = ['retry_later', 'channel_refused', 'rejected', 'uncertain']

/** Each code of the provider's answers once, with what it decides and why. */
export function codesTable({ codes = {} }: Provider): string {
  const groups = grouped(Object.entries(codes)).sort(
    ([, one], [, other]) => outcomes.indexOf(one.outcome) - outcomes.indexOf(other.outcome),
  )
  const rows = groups.map(([list, known]) => [
    codesInWords(list),
    `\`${known.outcome}\``,
    `\`${known.fault}\``,
    known.meaning + waitInWords(known.wait),
  ])
  return table(['Code', '`outcome`', '`fault`', 'Meaning'], rows)
}

function waitInWords(wait: KnownCode['wait']): string {
  if (wait === undefined) return ''
  return wait === 'next_utc_day'
    ? '; retried on the next day in UTC'
    : `; retried after ${wait / 60_000} minutes`
}

/** The outcomes of answers without a known code, by status. */
export function statusesTable({ call }: Provider): string {
  const own = typeof call === 'string' ? {} : call.statuses
  const groups = new Map<string, string[]>()
  const add = (status: number, called: string) => {
    const { outcome, fault } = failureOfStatus({ status }, own)
    const key = `\`${outcome}\`|\`${fault}\``
    groups.set(key, [...(groups.get(key) ?? []), called])
  }
  for (let status = 300; status < 600; status++) add(status, String(status))
  add(600, 'any other')
  const rows = [...groups].map(([key, list]) => [
    codesInWords(list).replace('`any other`', 'any other'),
    ...key.split('|'),
  ])
  return table(
    ['Status', '`outcome`', '`fault`'],
    [
      ['200–299', '`sent`', ''],
      ...rows,
      ['none: no connection', '`retry_later`', '`provider`'],
      ['none, once the request is being written', '`uncertain`', '`provider`'],
    ],
  )
}

/** The words of the provider's receipts. */
export const receiptsTable = ({ receipts }: Provider): string =>
  table(
    ['The provider’s word', 'What it means'],
    grouped(Object.entries(receipts?.words ?? {})).map(([words, kind]) => [
      words.map((word) => `\`${word}\``).join(', '),
      `\`${kind}\``,
    ]),
  )

/** Codes that decide no outcome, such as those of receipts. */
export const otherCodesTable = ({ otherCodes = {} }: Provider): string =>
  table(
    ['Code', 'Meaning'],
    grouped(Object.entries(otherCodes)).map(([list, meaning]) => [codesInWords(list), meaning]),
  )

const suppressedFor = { channel: 'the channel', account: 'all channels of the account' }
const isFirst = (item: string, index: number, items: readonly string[]) => items.indexOf(item) === index

/** Codes after which a contact is suppressed. */
export const suppressingTable = ({ suppressingCodes = {}, contactTypes }: Provider): string =>
  table(
    ['Code', 'The contact is suppressed, with the cause', 'For'],
    grouped(Object.entries(suppressingCodes)).map(([list, sign]) => [
      codesInWords(list),
      `\`${causeOfSign(sign)}\``,
      contactTypes
        .map((type) => suppressedFor[isOfChannel(sign, type) ? 'channel' : 'account'])
        .filter(isFirst)
        .join(', '),
    ]),
  )

/** All providers side by side. */
export const comparison = (providers: Readonly<Record<string, Provider>>): string =>
  table(
    ['Provider', 'What', 'Contacts', 'Text, characters', 'By default after an uncertain call', 'Receipts'],
    Object.entries(providers).map(([name, provider]) => [
      `[\`${name}\`](providers/${name}.md)`,
      provider.what,
      provider.contactTypes.join(', '),
      textsOf(provider),
      `\`${provider.onUncertain}\``,
      // The sandbox makes its receipts itself, so that it has no rules for reading them.
      provider.receipts || provider.call === 'sandbox' ? 'yes' : 'no',
    ]),
  )

function textsOf({ maxTextCharacters, ways = {} }: Provider): string {
  const narrower = Object.entries(ways).flatMap(([name, { maxTextCharacters: max }]) =>
    max === undefined ? [] : [`by ${name} ${max}`],
  )
  return [maxTextCharacters, ...narrower].join(', ')
}

/** The keys of equal values together, in the order in which they come. */
function grouped<Value>(entries: readonly [string, Value][]): [string[], Value][] {
  const groups = new Map<string, [string[], Value]>()
  for (const [key, value] of entries) {
    const group = groups.get(JSON.stringify(value))
    if (group) group[0].push(key)
    else groups.set(JSON.stringify(value), [[key], value])
  }
  return [...groups.values()]
}

/** Numbers in a row as a range; names as code. */
function codesInWords(codes: readonly string[]): string {
  const ranges: [string, string][] = []
  for (const code of codes) {
    const last = ranges.at(-1)
    if (last && Number(code) === Number(last[1]) + 1) last[1] = code
    else ranges.push([code, code])
  }
  return ranges
    .flatMap(([first, last]) => {
      if (first === last) return [/^\d+$/.test(first) ? first : `\`${first}\``]
      return Number(last) - Number(first) > 1 ? [`${first}–${last}`] : [first, last]
    })
    .join(', ')
}
