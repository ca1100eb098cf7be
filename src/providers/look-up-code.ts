import { anyOf } from '../core/any-of.ts'
import type { CodeDecision, ProviderRules } from '../core/channels/provider.ts'
import { contactKinds, contactTypes } from '../core/contacts/contact.ts'
import { replayWhen } from '../core/explanation/fault.ts'
import { capitalised, sentence } from '../core/explanation/phrases.ts'
import type { Failure } from '../core/sends/outcome.ts'
import { type SuppressingSign, scopeOf } from '../core/suppression/suppression.ts'
import { knownNames, providerOf } from './known.ts'

/** The meaning of a provider's code, and what to do about it: sentences. */
export interface CodeMeaning {
  code: string
  provider: string
  meaning: string
  advice: string
}

/** The meaning of a code at each provider that has it. */
export function meaningsOf(code: string): CodeMeaning[] {
  return knownNames().flatMap((provider) => {
    const rules = providerOf(provider)
    const meaning: unknown = rules.meaningOf({ providerCode: code })
    // A table has what every object has, such as `constructor`.
    if (typeof meaning !== 'string') return []
    return [{ code, provider, meaning: sentence(meaning), advice: adviceOn(rules, code) }]
  })
}

export const isKnownCode = (code: string): boolean => meaningsOf(code).length > 0

const kindsSuppressedFor = (scope: 'channel' | 'account') =>
  anyOf(
    contactTypes.flatMap((type) =>
      contactKinds[type].bounceIsOf === scope ? contactKinds[type].called : [],
    ),
  )

const suppressed: Record<ReturnType<typeof scopeOf>, string> = {
  channel: 'Its contact is suppressed for this channel',
  account: 'Its contact is suppressed for all channels of the account',
  'by kind': `${capitalised(kindsSuppressedFor('channel'))} is suppressed for this channel, ${kindsSuppressedFor('account')} for all of the account`,
}

const suppressionAfter = (sign: SuppressingSign) =>
  `${suppressed[scopeOf(sign)]}, unless the channel says otherwise.`

function adviceOn(rules: ProviderRules, code: string): string {
  const causes = rules.suppressingCodes ?? {}
  const cause = Object.hasOwn(causes, code) ? causes[code] : undefined
  return [forFailure(rules.failureOf?.(code)), cause && suppressionAfter(cause)].filter(Boolean).join(' ')
}

const refusedBecauseOf: Record<Extract<Failure, { outcome: 'rejected' }>['fault'], string> = {
  recipient:
    'It concerns this contact. Fix the number or address, or reach the contact in another way, then send a new message; a replay would be refused again.',
  message:
    'It concerns this message. Fix the message or its template, then send a new one; a replay would be refused again.',
  sender:
    "It concerns the account's own set-up, such as a template. Fix it at the provider, then send a new message.",
}

function forFailure(failure: CodeDecision | undefined): string {
  if (!failure) return 'Fix the cause, then send a new message.'
  const { outcome, fault } = failure
  switch (outcome) {
    case 'channel_refused':
      return 'It holds the channel. Fix the cause at the provider or in the channel, then resume the channel.'
    case 'retry_later':
      return `It is tried again by itself. Replay what has failed when ${replayWhen[fault]}.`
    case 'rejected':
      return refusedBecauseOf[fault]
    case 'uncertain':
      return 'An earlier attempt may have got through. Look for the message at the provider before it is replayed.'
    default:
      return outcome satisfies never
  }
}
