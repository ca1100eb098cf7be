import { createHmac } from 'node:crypto'
import { expect, test } from 'vitest'
import {
  anyEvent,
  anyEventByContact,
  autoCauses,
  calledOf,
  causeOfReason,
  causes,
  isByContact,
  isOfChannel,
  removalFault,
  type SuppressionCause,
  suppressingSignOf,
  suppressionCauses,
  suppressionKey,
} from '../../../../src/core/suppression/suppression.ts'
import { type ProviderName, providers } from '../../../../src/providers/index.ts'
import { meaningsOf } from '../../../../src/providers/look-up-code.ts'
import { hardBounceOf } from '../../../../src/providers/smtp/replies/hard-bounces.ts'
import { twilioCodes } from '../../../../src/providers/twilio/codes.ts'
import { vonageCodes } from '../../../../src/providers/vonage/codes.ts'
import { whatsAppCodes } from '../../../../src/providers/whatsapp-cloud/codes.ts'

const codesOf = (provider: ProviderName) => providers[provider].suppressingCodes ?? {}

test.each<[ProviderName, object]>([
  ['resend', { Permanent: 'bounce' }],
  ['sandbox', {}],
  ['smtp', {}],
  [
    'twilio',
    {
      21211: 'invalid_contact',
      30005: 'bounce',
      21610: 'opt_out',
      63014: 'opt_out',
      63033: 'opt_out',
    },
  ],
  ['vonage', { 1170: 'invalid_contact', 1190: 'bounce', 1240: 'opt_out' }],
  ['webhook', {}],
  ['whatsapp-cloud', { 131050: 'opt_out' }],
])('these codes of %s suppress, with these causes, and no others', (provider, causes) => {
  expect(codesOf(provider)).toEqual(causes)
})

test.each([
  ['twilio', twilioCodes],
  ['vonage', vonageCodes],
  ['whatsapp-cloud', whatsAppCodes],
] as const)('a code of %s that isn’t listed so suppresses nobody', (provider, known) => {
  for (const providerCode of [...Object.keys(known), '30003', '30007', '1180', '131026', 'constructor'])
    expect(suppressingSignOf({ providerCode }, codesOf(provider)), providerCode).toBe(
      Object.hasOwn(codesOf(provider), providerCode) ? codesOf(provider)[providerCode] : null,
    )
})

test('what the provider’s own code says of one answer counts more than its codes', () => {
  expect(suppressingSignOf({ providerCode: '1', suppresses: null }, { 1: 'bounce' })).toBeNull()
  expect(suppressingSignOf({ providerCode: null, suppresses: 'bounce' }, {})).toBe('bounce')
})

test.each(['5.1.1', '5.1.2', '5.1.3', '5.1.6', '5.1.10', '5.1.351', '5.2.1'])(
  'a mail refused with %s is a hard bounce',
  (code) => {
    expect(hardBounceOf({ code, reply: 550, words: `550 ${code} <spam.full@example.com>: no` })).toBe(
      'bounce',
    )
    expect(hardBounceOf({ code, reply: null, words: '' })).toBe('bounce')
  },
)

test.each([
  ['5.2.2', 552, 'mailbox full'],
  ['5.2.3', 552, 'message too large'],
  ['5.7.1', 550, 'user unknown; rejected by policy'],
  ['5.7.9', 554, 'policy'],
  ['5.0.0', 550, 'rejected'],
  ['5.0.0', 554, 'blocked for its reputation, no such user'],
  ['5.1.0', 550, 'address rejected'],
  ['5.1.0', 550, 'sender address rejected: user unknown'],
  ['5.7.0', 550, 'user unknown'],
  ['5.5.0', 550, 'mailbox unavailable: blocked by our policy'],
  ['5.5.0', 450, 'mailbox unavailable'],
  ['5.5.0', 550, 'mailbox unavailable: message rejected due to content'],
  ['5.1.1', 550, 'mailbox temporarily unavailable'],
  ['5.5.0', 554, 'service refused, see OFR_506'],
  ['5.2.0', 552, 'mailbox unavailable: over quota'],
  ['5.1.1', 550, 'recipient address rejected: mailbox is full'],
  ['5.1.1', 550, 'blocked, see our spam policy'],
  ['5.2.1', 550, 'the user is receiving mail at a rate that prevents more'],
  ['5.1.1', 450, 'greylisted'],
  ['4.1.1', 450, 'no such user'],
  ['5.4.7', null, 'delivery time expired'],
  [null, 550, 'requested action not taken'],
  [null, 554, 'denied'],
  [null, 550, 'connection closed: user account of the sender closed'],
  [null, 554, 'your account has been suspended'],
  [null, 550, 'Adresse IP inconnue'],
  [null, 550, "adresse de l'expéditeur invalide"],
  ['5.2.1', 550, 'blocked for its reputation, after inactivity'],
])('a mail refused with %s %s %s suppresses nobody', (code, reply, words) => {
  expect(hardBounceOf({ code, reply, words })).toBeNull()
})

test.each([
  [null, 550, 'No such user here'],
  [null, 554, "delivery error: dd This user doesn't have an account"],
  ['5.0.0', 550, '<ann@example.com>: Recipient address rejected: User unknown'],
  ['5.0.0', 550, 'The email account that you tried to reach does not exist.'],
  [null, 550, 'Unrouteable address'],
  [null, 550, 'account disabled'],
  ['5.1.0', 550, 'user unknown'],
  ['5.1.351', 550, 'Remote server returned unknown recipient or mailbox unavailable'],
  ['5.5.0', 550, 'Requested action not taken: mailbox unavailable (S2017062302)'],
  ['5.5.0', 550, 'Adresse d au moins un destinataire invalide. Invalid recipient. OFR_416 [416]'],
  ['5.5.0', 550, 'Boite du destinataire archivee. Archived recipient. OFR_513 [513]'],
  [null, 550, 'Requested action not taken: mailbox unavailable'],
  [null, 550, 'ann is not a known user here'],
  ['5.0.350', 550, 'Remote server returned an error -> 550 No such user'],
  ['5.2.1', 550, 'This mailbox has been blocked due to inactivity'],
  ['5.0.0', 550, 'no such person at this address'],
  [null, 550, 'That user does not live here'],
  [null, 550, 'The account has been closed'],
  [null, 550, 'user terminated'],
  ['5.4.0', 554, 'user doesn’t exist'],
  [null, 550, 'Utilisateur inconnu'],
  [null, 550, 'Adresse inconnue, boite fermee'],
  [null, 550, 'Benutzer unbekannt'],
  [null, 550, 'Empfänger ist hier unbekannt'],
  [null, 550, 'Usuario desconocido'],
  [null, 550, 'El destinatario no existe'],
  [null, 550, 'Utente sconosciuto'],
])('without a telling code, a clear reply counts: %s %s %s', (code, reply, words) => {
  expect(hardBounceOf({ code, reply, words })).toBe('bounce')
})

test('the reason of a suppressed send names its cause', () => {
  for (const [cause, { storedReason: reason }] of Object.entries(causes)) {
    expect(reason).toMatch(/^suppressed: /)
    expect(causeOfReason(reason)).toBe(cause)
  }
  expect(causeOfReason('expired')).toBeUndefined()
})

test.each([
  ['bounce', 'phone', true],
  ['bounce', 'email', false],
  ['invalid_contact', 'phone', false],
  ['complaint', 'phone', false],
  ['opt_out', 'email', true],
] as const)('%s of a contact of the kind %s suppresses it for its channel alone: %s', (sign, type, is) => {
  expect(isOfChannel(sign, type)).toBe(is)
})

test.each([
  [
    '30005',
    /A phone number.* is suppressed for this channel, an e-mail address.* for all of the account, unless/,
  ],
  ['21211', /Its contact is suppressed for all channels of the account, unless/],
  ['21610', /Its contact is suppressed for this channel, unless/],
])('the advice on the code %s says for which channels its contact is suppressed', (code, advice) => {
  const [meaning] = meaningsOf(code).filter(({ provider }) => provider === 'twilio')
  expect(meaning?.advice).toMatch(advice)
})

test('texts name the causes as their table has them', () => {
  expect(suppressionCauses).toEqual(['manual', 'bounce', 'complaint', 'opt_out'])
  expect(autoCauses).toEqual(['bounce', 'complaint', 'opt_out'])
  expect(anyEvent).toBe('a bounce, a complaint or an opt-out')
  expect(anyEventByContact).toBe('a complaint or an opt-out')
})

test('a cause that a newer release has stored is shown by its name, and is no wish of the contact', () => {
  const unknown = 'newer' as SuppressionCause
  expect(calledOf(unknown)).toBe('newer')
  expect(isByContact(unknown)).toBe(false)
})

test('the two padded keys make an HMAC-SHA256', () => {
  const padded = suppressionKey('pepper')
  const key = padded.subarray(0, 64).map((byte) => byte ^ 0x36)
  expect(padded.subarray(64).equals(key.map((byte) => byte ^ 0x5c))).toBe(true)
  expect(key.subarray(0, 32)).toEqual(createHmac('sha256', 'pepper').update('suppressions').digest())
})

const removed = (cause: SuppressionCause, contactValue: string | null = '+4915123456780') => ({
  cause,
  contactValue,
})

test('a complaint and an opt-out are removed with a reason alone, other entries also without', () => {
  const withoutReason = suppressionCauses.filter(
    (cause) => removalFault(removed(cause), undefined) === undefined,
  )
  expect(withoutReason).toEqual(['manual', 'bounce'])
  for (const cause of suppressionCauses)
    expect(removalFault(removed(cause), 'asked by phone')).toBeUndefined()
})

test.each([
  ['+4915123456780', 'of 015123456780, by phone'],
  ['+4915123456780', '+49 (0)151 / 2345-6780 asked'],
  ['ann@example.com', 'Ann@Example.COM wrote'],
])('a reason for removing %s does not name the contact: %s', (contact, reason) => {
  expect(removalFault(removed('manual', contact), reason)).toContain('leave it out')
})

test.each([
  ['+4915123456780', 'ticket 4567 of 2026-11-28'],
  ['ann@example.com', 'bob@example.com asked for it'],
  [null, 'asked for it'],
])('a reason for removing %s may be: %s', (contact, reason) => {
  expect(removalFault(removed('opt_out', contact), reason)).toBeUndefined()
})
