import { afterAll, beforeAll, expect, test } from 'vitest'
import { waitFor } from '../../../db/sends/wait-now.ts'
import { maskText } from '../../../src/core/contacts/mask-text.ts'
import { explain } from '../../../src/core/explanation/explain.ts'
import { parseNetwork } from '../../../src/core/requests/public-address.ts'
import type { AttemptOutcome } from '../../../src/core/sends/outcome.ts'
import { buildTimeline } from '../../../src/core/sends/timeline.ts'
import { type Emulators, startEmulators, stopEmulators } from '../../../src/dev/world/emulators.ts'
import type { ProviderName } from '../../../src/providers/index.ts'
import { providers as rulesOf } from '../../../src/providers/index.ts'
import { meaningOfAnswer } from '../../../src/providers/meaning-of-answer.ts'
import { resendCodes } from '../../../src/providers/resend/codes.ts'
import { resendError } from '../../../src/providers/resend/dev/emulator.ts'
import { resend } from '../../../src/providers/resend/index.ts'
import { meaningOfReply } from '../../../src/providers/smtp/replies/meanings.ts'
import { twilioCodes } from '../../../src/providers/twilio/codes.ts'
import { twilioError } from '../../../src/providers/twilio/dev/message.ts'
import { twilio } from '../../../src/providers/twilio/index.ts'
import { vonageCodes } from '../../../src/providers/vonage/codes.ts'
import { vonageError } from '../../../src/providers/vonage/dev/emulator.ts'
import { vonage } from '../../../src/providers/vonage/index.ts'
import { webhook } from '../../../src/providers/webhook/index.ts'
import { whatsAppCodes } from '../../../src/providers/whatsapp-cloud/codes.ts'
import { graphError } from '../../../src/providers/whatsapp-cloud/dev/emulator.ts'
import { whatsappCloud } from '../../../src/providers/whatsapp-cloud/index.ts'
import { createHttpClient } from '../../../workers/http/http.ts'
import { createMediaFetcher } from '../../../workers/http/media-fetcher.ts'
import type { Sender } from '../../../workers/providers/sender.ts'
import { createSmtpSender } from '../../../workers/providers/smtp.ts'
import { buildDelivery } from '../../support/deliveries.ts'
import { httpSender } from '../../support/http-sender.ts'
import { queuedRecord } from '../../support/send-record.ts'

const allowedPrivateNetworks = [parseNetwork('127.0.0.0/8')]
const http = createHttpClient({ allowedPrivateNetworks })
const media = createMediaFetcher({ allowedPrivateNetworks })
const link = () => 'https://messages.example.com/x'
let emulators: Emulators

beforeAll(async () => {
  emulators = await startEmulators()
})
afterAll(async () => {
  await stopEmulators(emulators)
  await http.close()
  await media.close()
})

/** Makes a provider refuse a send with one of its codes, in these words. */
const answers = {
  'whatsapp-cloud': (code, words) => graphError(400, Number(code), words, { details: words }),
  twilio: (code, words) => twilioError(400, Number(code), words),
  vonage: (code, words) => vonageError(422, /^\d+$/.test(code) ? Number(code) : code, words),
  resend: (code, words) => resendError(422, code, words),
  smtp: (code, words) => ({ at: 'MAIL', reply: `550-${code} ${words}\n550 ${code} ${words}` }),
  webhook: (code, words) => ({ status: Number(code), body: words }),
} satisfies Partial<Record<keyof Emulators, (code: string, words: string) => unknown>>

/** One sender makes the reasons of all providers that are called by HTTP: those that are here have codes of each form. */
type Name = keyof typeof answers

const providers: Record<Name, Sender<never>> = {
  'whatsapp-cloud': httpSender(whatsappCloud, http),
  twilio: httpSender(twilio, http, { mediaLink: link, receiptsLink: link }),
  vonage: httpSender(vonage, http, { mediaLink: link }),
  resend: httpSender(resend, http),
  smtp: createSmtpSender(media),
  webhook: httpSender(webhook, http),
}

const enhanced =
  '5.1.8 5.2.2 5.2.122 5.2.252 5.4.5 5.7.1 5.7.8 5.7.26 5.7.57 5.7.60 5.7.64 5.7.501 5.7.705 5.7.750'
const meaningsOf: Record<Name, [code: string, meaning: string][]> = {
  'whatsapp-cloud': Object.entries(whatsAppCodes).map(([code, { meaning }]) => [code, meaning]),
  twilio: Object.entries(twilioCodes).map(([code, { meaning }]) => [code, meaning]),
  vonage: Object.entries(vonageCodes).map(([code, { meaning }]) => [code, meaning]),
  resend: Object.entries(resendCodes).map(([code, { meaning }]) => [code, meaning]),
  smtp: enhanced.split(' ').map((code) => [code, meaningOfReply({ providerCode: code }) ?? '']),
  webhook: ['301', '401', '403', '404', '410', '500'].map((code) => [code, 'x']),
}
/** Codes that no table has. */
const unknown: Record<Name, string> = {
  'whatsapp-cloud': '999',
  twilio: '99999',
  vonage: '9999',
  resend: 'validation_error',
  smtp: '5.9.9',
  webhook: '418',
}

async function refusalBy(name: Name, answer: unknown): Promise<AttemptOutcome> {
  const emulator: { config: object; answerNext(answer: never): void } = emulators[name]
  emulator.answerNext(answer as never)
  const rules = rulesOf[name as ProviderName]
  const config = rules.config.parse(emulator.config)
  const delivery = { ...buildDelivery(rules, config, {}), config }
  return await providers[name].send(delivery as never, AbortSignal.timeout(30_000))
}

const at = (second: number) => new Date(Date.UTC(2026, 0, 1, 14) + second * 1000)

/** The texts that the timeline, the support page and `channel list` compose of an outcome. */
function textsOn(provider: ProviderName, outcome: AttemptOutcome): string[] {
  const { reason = '' } = outcome as { reason?: string }
  const answer = { providerStatus: null, providerCode: null, providerMessageId: null, durationMs: 2 }
  const attempt = { attempt: 1, ...answer, ...outcome }
  const events = [
    { at: at(1), event: 'attempt_started', fields: { attempt: 1, worker: 'w1' } },
    { at: at(2), event: 'attempt_finished', fields: attempt },
    { at: at(3), event: 'channel_held', fields: { reason } },
  ]
  const facts = {
    now: at(100),
    nextAttemptAt: at(0),
    isScheduled: false,
    expiresAt: null,
    wait: null,
    ahead: null,
    moreUrgent: 0,
    waitedFor: null,
    channels: [],
    meaningOf: meaningOfAnswer,
    channel: {
      channelId: queuedRecord.channelId,
      provider,
      name: 'One',
      heldReason: reason,
      breakerOpenUntil: null,
      rate: null,
      maxInFlight: null,
      hasReceipts: false,
      deletedAt: null,
    },
  }
  const held = { ...facts, wait: waitFor('held', null), channel: { ...facts.channel, heldAt: at(3) } }
  const failed = { ...queuedRecord, status: 'failed', finishedAt: at(3), failure: reason } as const
  const explanations = [
    explain(buildTimeline(queuedRecord, events, 'masked'), held),
    explain(buildTimeline(failed, events, 'masked'), {
      ...facts,
      channel: { ...held.channel, heldAt: null },
    }),
  ]
  return [
    reason,
    ...explanations.flatMap(({ summary, entries }) => [summary, ...entries.map(({ text }) => text)]),
  ]
}

/** Three words that a text has twice, in any form: `refused the channel`, `refuses the channel`. */
function repeatedIn(text: string): string[] {
  const words = (text.toLowerCase().match(/[\p{L}\p{N}']+/gu) ?? []).map((word) =>
    word.replace(/(?:e[sd]|s)$/, ''),
  )
  const phrases = words.slice(2).map((_, index) => words.slice(index, index + 3).join(' '))
  return phrases.filter((phrase, index) => phrases.indexOf(phrase) !== index)
}

const cases = (Object.keys(meaningsOf) as Name[]).flatMap((name) =>
  [...meaningsOf[name], [unknown[name], 'Account locked'] as [string, string]].map(
    ([code, meaning]) => [name, code, meaning] as const,
  ),
)

test.each(cases)('no text on a failure says the same twice: %s, code %s', async (name, code, meaning) => {
  const capital = `${meaning.charAt(0).toUpperCase()}${meaning.slice(1)}.`
  // A long name in it is masked, as in what a provider says.
  const echoes = maskText(meaning, []) === meaning ? [meaning, capital] : []
  for (const words of [...echoes, 'Account locked', '']) {
    const outcome = await refusalBy(name, answers[name](code, words))
    expect(outcome).toMatchObject({ reason: expect.stringMatching(/./) })
    for (const text of textsOn(name, outcome)) expect(repeatedIn(text), text).toEqual([])
  }
})

test.each([
  ['The provider refused the channel: it refuses the channel', ['refus the channel']],
  ['Account locked', []],
])('a repeat is found: %s', (text, phrases) => {
  expect(repeatedIn(text)).toEqual(phrases)
})
