import type { IncomingMessage, ServerResponse } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'
import { between, type Random } from '../support/random.ts'
import { answer, answerRaw, neverAnswer, resetAfterReading, trickle } from '../support/webhook-receiver.ts'

/**
 * The effect of a call. `accepted`: the provider accepted the message and answered 2xx. `refused`: it refused it and said so.
 * `unknown`: it accepted the message without a readable answer.
 */
export type Effect = 'accepted' | 'refused' | 'unknown'

export interface ProviderCall {
  requestId: string
  /** The contact in the message. */
  contact: string
  /** The number of the call for its send, from 1. */
  number: number
  arrivedAt: number
  /** The name of what is changed. */
  treatment: string
  effect: Effect
  answeredAt: number | undefined
  /** When its answer was sent, or its connection closed. */
  closedAt: number | undefined
}

/** How the provider answers a call. It has its effect unless the caller has disconnected by then. */
interface Treatment {
  name: string
  effect: Effect
  act(request: IncomingMessage, response: ServerResponse): unknown
}

interface Circumstances {
  random: Random
  /** Resolves when the provider is to behave differently. */
  replaced: Promise<void>
}

/** How the provider treats a channel's calls. */
export type Behaviour = (call: ProviderCall, circumstances: Circumstances) => Treatment | Promise<Treatment>

/** The answer to a 429, after which a send has to wait. */
export const retryAfterMs = 2000
/** Failures per send, each on its own channel: with more, a circuit breaker would determine the next attempt. */
const maxFailures = 4

const accepts: Treatment = {
  name: '200',
  effect: 'accepted',
  act: (_request, response) => response.end('{}'),
}
/** A 429, which unlike a 503 opens no circuit breaker. While one is open, sends would wait longer than because of the fault. */
const isBusy: Treatment = { name: '429', effect: 'refused', act: answer(429) }
const hangs: Treatment = { name: 'no answer', effect: 'unknown', act: neverAnswer }

const whole = `HTTP/1.1 200 OK\r\nx-filler: ${'x'.repeat(2000)}\r\ncontent-length: 0\r\n\r\n`
const head = 'HTTP/1.1 200 OK\r\ncontent-length: 2000\r\n\r\n'

/** Each entry applies to one call in ten; all other calls are accepted. */
const failures: Treatment[] = [
  { name: '500', effect: 'refused', act: answer(500) },
  { name: '503', effect: 'refused', act: answer(503) },
  { name: '429', effect: 'refused', act: answer(429, { 'retry-after': String(retryAfterMs / 1000) }) },
  { name: 'time-out', effect: 'unknown', act: neverAnswer },
  { name: 'reset', effect: 'unknown', act: resetAfterReading },
  { name: 'trickled answer', effect: 'unknown', act: trickle('', whole) },
  { name: 'garbage', effect: 'unknown', act: answerRaw('SSH-2.0-OpenSSH_9.6\r\n') },
]
export const failureCount = failures.length
/** The status arrives and counts, so this call is accepted. */
const trickledBody: Treatment = {
  name: 'trickled body',
  effect: 'accepted',
  act: trickle(head, ' '.repeat(2000)),
}

/** Every third contact. */
export const isRefusedContact = (contact: string): boolean => Number(contact.slice(-4)) % 3 === 0

export const behaviours = {
  accepting: (): Behaviour => () => accepts,
  slow:
    (fromMs: number, toMs: number): Behaviour =>
    (_call, { random }) =>
      sleep(between(random, fromMs, toMs), accepts),
  /** At any time some sends are being delivered, and some wait in Redis for a retry. */
  slowAndOftenBusy:
    (): Behaviour =>
    ({ number }, { random }) =>
      sleep(between(random, 0, 400), number === 1 && random() < 0.4 ? isBusy : accepts),
  /** Refuses some contacts at every attempt; `isRefusedContact` says which. */
  refusingSome:
    (): Behaviour =>
    ({ contact }, { random }) =>
      isRefusedContact(contact) ? isBusy : sleep(between(random, 0, 200), accepts),
  /** Answers no call until it is to behave differently, so that calls pile up. */
  holding:
    (): Behaviour =>
    (_call, { replaced }) =>
      replaced.then(() => accepts),
  failing:
    (): Behaviour =>
    ({ number }, { random }) => {
      if (number > maxFailures) return accepts
      const treatment = failures[Math.floor(random() * 10)] ?? accepts
      return treatment.name === 'trickled answer' && random() < 0.5 ? trickledBody : treatment
    },
  /** Never answers calls to one contact, and delays the first call of each other send. */
  hangingFor:
    (contact: string, othersFirstMs: number): Behaviour =>
    (call) =>
      call.contact === contact ? hangs : sleep(call.number === 1 ? othersFirstMs : 0, accepts),
}

export type Behaviours = typeof behaviours
