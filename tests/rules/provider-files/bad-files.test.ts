import { expect, test } from 'vitest'
import { checkFile } from '../../../src/providers/files/check/check-file.ts'
import { shippedText } from '../../../src/providers/shipped.ts'

const good = shippedText('telnyx')

/** The faults of the file after a change of its text. */
async function faultsOf(from: string | RegExp, to: string): Promise<string[]> {
  const changed = good.replace(from, to)
  expect(changed).not.toBe(good)
  const result = await checkFile(changed)
  return 'issues' in result ? result.issues : []
}

const lineOf = (text: string) => good.slice(0, good.indexOf(text)).split('\n').length

test.each<[string, string | RegExp, string, RegExp]>([
  ['an unknown key', 'answer:\n', 'answer:\n  idd: /data/id\n', /^line \d+: \/answer\/idd: unknown field/],
  ['a wrong pointer', 'id: /data/id', 'id: data/id', /\/answer\/id\/0: has to be a JSON pointer/],
  [
    'a pointer to another place',
    'code: /errors/0/code',
    'code: /errors/1/code',
    /\/examples\/sends\/1\/outcome|code/,
  ],
  [
    'a code twice',
    '        10004: "a field is missing"',
    '        10002: "again"',
    /10002: this code stands twice/,
  ],
  ['a key twice', 'label: Telnyx', 'label: Telnyx\nlabel: Other', /^line \d+: Map keys must be unique/],
  [
    'an example that fails',
    'outcome: sent, id: 40385f64',
    'outcome: sent, id: 50385f64',
    /\/examples\/sends\/0\/outcome: the answer is/,
  ],
  [
    'a secret in the body',
    '    text: { $: text, optional: true }',
    '    text: { $: config.apiKey }',
    /apiKey is a secret/,
  ],
  [
    'a secret in the address',
    'path: /v2/messages',
    'path: /v2/{config.apiKey}',
    /apiKey is a secret: it can't stand in an address/,
  ],
  [
    'a hole in the host',
    'baseUrl: https://api.telnyx.com',
    'baseUrl: "https://{config.from}.telnyx.com"',
    /\/baseUrl: /,
  ],
  ['another scheme', 'baseUrl: https://api.telnyx.com', 'baseUrl: http://api.telnyx.com', /\/baseUrl: /],
  ['a hole in the name of a header', '  json:\n', '  headers: { "{$}": x }\n  json:\n', /\/request\/headers/],
  [
    'a text of a client in a header',
    '  json:\n',
    '  headers: { X-Text: { $: text } }\n  json:\n',
    /text can't stand in a header/,
  ],
  [
    'a hole that a message can not fill',
    '{ $: text, optional: true }',
    '{ $: media.url }',
    /this message has no media.url/,
  ],
  [
    'a hole of another name',
    '{ $: text, optional: true }',
    '{ $: message.txt }',
    /no message has message.txt/,
  ],
  [
    'a field of a name that every object has',
    '  publicKey: {',
    '  constructor: { words: "x", optional: true }\n  publicKey: {',
    /\/config\/constructor: .*is a reserved name/,
  ],
  [
    'a secret of a name that every object has',
    /bearer: \w+/,
    'bearer: toString',
    /^line \d+: \/request\/auth: /,
  ],
  [
    'an address with a field that only every object has',
    'path: /v2/messages',
    'path: /v2/{config.constructor}',
    /the config has no field constructor/,
  ],
  [
    'a field of the body that would change what it inherits',
    '    text: { $: text, optional: true }',
    '    __proto__: { a: b }\n    text: { $: text, optional: true }',
    /^line \d+: leave __proto__ out/,
  ],
  ['a word after the hole', '{ $: text, optional: true }', '{ $: text, optionl: true }', /leave optionl out/],
  [
    'a field that the config has not',
    '{ $: config.from }',
    '{ $: config.form }',
    /the config has no field form/,
  ],
  [
    'a key of auth that is no secret',
    'apiKey: { secret: true,',
    'apiKey: {',
    /^line \d+: \/request\/auth\/bearer: apiKey proves who calls: give the field secret: true$/,
  ],
  [
    'a key of a signature that is no secret',
    '  auth: { bearer: apiKey }',
    '  auth: { bearer: apiKey }\n  signature: { header: X-Sign, key: from, hash: sha256, encoding: hex, over: [body] }',
    /^line \d+: \/request\/signature\/key: from proves who calls: give the field secret: true$/,
  ],
  [
    'a password that is no secret',
    'auth: { bearer: apiKey }',
    'auth: { basic: { user: from, password: messagingProfileId } }',
    /^line \d+: \/request\/auth\/basic\/password: messagingProfileId proves who calls: give the field secret: true$/,
  ],
  [
    'a token of receipts that is no secret',
    /proof:\n {4}ed25519:\n[\s\S]*?fresh: .*\n/,
    'proof: { token: messagingProfileId }\n',
    /^line \d+: \/receipts\/proof: messagingProfileId proves who calls: give the field secret: true$/,
  ],
  [
    'a public key as the secret of a proof',
    /ed25519:\n/,
    'hmac:\n      hash: sha256\n',
    /^line \d+: \/receipts\/proof: publicKey proves who calls: give the field secret: true$/,
  ],
  [
    'a field of its own named baseUrl',
    'config:\n',
    'config:\n  baseUrl: { words: "the address" }\n',
    /^line \d+: \/config\/baseUrl: each channel has a field baseUrl already: leave it out, or use another name$/,
  ],
  [
    'a text that only some messages have, without a $case',
    '{ $: text, optional: true }',
    '{ $with: message.type, then: { $: text } }',
    /this message has no text: make the hole optional/,
  ],
  ['a condition twice', 'delivered: [delivered]', 'delivered: [delivered, sent]', /sent stands twice/],
  [
    'a suppressing code that no table has',
    'suppressing: { 40300: opt_out',
    'suppressing: { 49999: opt_out',
    /no code of this name/,
  ],
  [
    'a proof by a field that is not there',
    'key: publicKey',
    'key: publicKy',
    /the config has no field publicKy/,
  ],
  [
    'a state without an example',
    / {4}- title: sent to the carrier[\s\S]*?(?= {4}- title: refused)/,
    '',
    /no example means accepted/,
  ],
  ['a status that is none', '{ 402:', '{ 99:', /has to be a status from 300 to 599/],
  ['an alias', 'label: Telnyx', 'label: &a Telnyx\nwhat2: *a', /anchors and aliases/],
  ['a tag', 'label: Telnyx', 'label: !!js/function x', /line \d+: /],
  ['a tag of its own', 'label: Telnyx', 'label: !vault x', /line \d+: /],
  ['no YAML', 'label: Telnyx', 'label: [', /^line \d+: /],
  [
    'a pattern that takes for ever',
    'apiKey: { secret: true,',
    'apiKey: { secret: true, pattern: "(a+)+",',
    /repeated group/,
  ],
])('%s is one clear line, and nothing else', async (_, from, to, expected) => {
  const faults = await faultsOf(from, to)
  expect(faults.join('\n')).toMatch(expected)
  for (const fault of faults) expect(fault).not.toMatch(/\n|undefined|\[object/)
})

test('a field of its own named subject is one clear line in a file of mails, and no fault in others', async () => {
  const withSubject = (text: string) =>
    text.replace('config:\n', 'config:\n  subject: { words: "x", optional: true }\n')
  expect(await checkFile(withSubject(shippedText('brevo')))).toEqual({
    issues: [
      expect.stringMatching(
        /^line \d+: \/config\/subject: each channel has a field subject already: leave it out/,
      ),
    ],
  })
  expect(await checkFile(withSubject(good))).toMatchObject({ checked: {} })
})

test('a fault of the form is named by its line', async () => {
  const [fault] = await faultsOf('id: /data/id', 'id: data/id')
  expect(fault).toMatch(new RegExp(`^line ${lineOf('id: /data/id')}: `))
})

test('a fault of a hole is named by its line, too', async () => {
  const [fault] = await faultsOf('{ $: config.from }', '{ $: config.form }')
  expect(fault).toMatch(new RegExp(`^line ${lineOf('from: { $: config.from }')}: /request/json/from: `))
})

test('a file of two megabytes is not read', async () => {
  expect(await checkFile(`${good}\n# ${'x'.repeat(2 * 1024 * 1024)}`)).toEqual({
    issues: ['the file has more than 256 KiB: shorten it'],
  })
})

test('aliases that would grow to gigabytes are refused at once', async () => {
  const bomb = [
    'a0: &a0 [x]',
    ...Array.from({ length: 40 }, (_, n) => `a${n + 1}: &a${n + 1} [*a${n}, *a${n}]`),
  ].join('\n')
  const result = await checkFile(bomb)
  expect('issues' in result && result.issues[0]).toMatch(/anchors and aliases/)
})
