import type { ProviderRules } from '../channels/provider.ts'
import type { Contact } from '../contacts/contact.ts'
import type { Message } from './message.ts'

export const encodings = ['gsm-7', 'ucs-2'] as const

/** What an SMS is billed by. */
export interface SmsSize {
  segments: number
  encoding: (typeof encodings)[number]
}

/**
 * The alphabet of GSM 03.38, and its extension, whose characters take two septets each. National shift tables are not assumed: vendors
 * don't use them unless asked.
 */
const basic =
  '@£$¥èéùìòÇ\nØø\rÅåΔ_ΦΓΛΩΠΨΣΘΞÆæßÉ !"#¤%&\'()*+,-./0123456789:;<=>?¡ABCDEFGHIJKLMNOPQRSTUVWXYZÄÖÑÜ§¿abcdefghijklmnopqrstuvwxyzäöñüà'
const extension = '\f^{}\\[~]|€'
const septetsByUnit = new Uint8Array('€'.charCodeAt(0) + 1)
for (const character of basic) septetsByUnit[character.charCodeAt(0)] = 1
for (const character of extension) septetsByUnit[character.charCodeAt(0)] = 2

/** The most that a lone segment holds, and one of several, of which 6 bytes say how they belong together. */
const septets = { alone: 160, joined: 153 }
const units = { alone: 70, joined: 67 }

const graphemes = new Intl.Segmenter('und', { granularity: 'grapheme' })

/** How many segments a text takes as SMS, and in which encoding (docs/reference/api.md#segments). */
export function sizeOfSms(text: string): SmsSize {
  const inGsm = gsmSegments(text)
  return inGsm === undefined
    ? { segments: ucsSegments(text), encoding: 'ucs-2' }
    : { segments: inGsm, encoding: 'gsm-7' }
}

/** Undefined if a character is not in the alphabet. A character of two septets isn't divided. */
function gsmSegments(text: string): number | undefined {
  let total = 0
  let segments = 1
  let used = 0
  for (let index = 0; index < text.length; index++) {
    const size = septetsByUnit[text.charCodeAt(index)]
    if (!size) return undefined
    total += size
    if (used + size > septets.joined) {
      segments++
      used = 0
    }
    used += size
  }
  return total <= septets.alone ? 1 : segments
}

/** Text that reads as one character isn't divided either, unless it is longer than a segment. */
function ucsSegments(text: string): number {
  if (text.length <= units.alone) return 1
  const characters = graphemes.segment(text)
  let segments = 1
  for (let start = 0; text.length - start > units.joined; segments++) {
    const end = start + units.joined
    const whole = characters.containing(end)?.index ?? end
    start = whole > start ? whole : end - (isLowSurrogate(text.charCodeAt(end)) ? 1 : 0)
  }
  return segments
}

const isLowSurrogate = (unit: number) => unit >= 0xdc00 && unit <= 0xdfff

/** The size of a registered template's fixed text; undefined as of a message. */
export function smsSizeOfTemplate(
  { sendsSms, template }: Pick<ProviderRules, 'sendsSms' | 'template'>,
  definition: object,
): SmsSize | undefined {
  if (!sendsSms) return undefined
  const empty = template.variablesOf(definition).map((key) => ({ key, value: '' }))
  const text = template.textOf?.(definition, empty)
  return text === undefined ? undefined : sizeOfSms(text)
}

/** The size of a message that a channel sends as SMS; undefined if it doesn't, or if only the vendor knows the text. */
export function smsSizeOf(
  { sendsSms, template }: Pick<ProviderRules, 'sendsSms' | 'template'>,
  contact: Pick<Contact, 'type'>,
  message: Message,
): SmsSize | undefined {
  if (!sendsSms || contact.type !== 'phone') return undefined
  if (message.type === 'text') return sizeOfSms(message.text.value)
  if (message.type !== 'template' || !message.template.definition) return undefined
  const text = template.textOf?.(message.template.definition, message.template.variables)
  return text === undefined ? undefined : sizeOfSms(text)
}
