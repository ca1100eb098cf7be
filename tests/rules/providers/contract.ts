import fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type ContactType, contactKinds, contactTypes } from '../../../src/core/contacts/contact.ts'
import type { Message, MessageType } from '../../../src/core/messages/message.ts'
import { type Fault, faults, type Outcome } from '../../../src/core/sends/outcome.ts'
import type { Delivery } from '../../../src/providers/delivery.ts'
import { providerOf } from '../../../src/providers/known.ts'
import type { Sender } from '../../../workers/providers/sender.ts'
import { buildDelivery } from '../../support/deliveries.ts'
import { expectSooner, timed, unlessStoodStill } from '../../support/standstill.ts'
import { anyMessage } from './any-message.ts'

/** How the emulator of a provider treats the next call. */
export type FakeServer =
  | 'accept'
  | 'reject'
  | 'fail_for_a_while'
  | 'limit_rate'
  | 'drop_after_taking'
  | 'never_answer'

/** A provider's part of the suite: the provider, and its emulator. */
export interface Harness {
  provider: Sender
  /** A config that the provider's rules accept, and one that they refuse. */
  goodConfig: object
  badConfig: object
  /** A delivery that meets this behaviour: a recipient for the sandbox, a prepared server for the others. */
  arrange(behaviour: FakeServer, delivery: Delivery<unknown>): Promise<Delivery<unknown>>
  /** The calls that the emulator recorded for a send. */
  taken(requestId: string): Promise<unknown[]>
  /** Its protocol has no way to say when to try again. */
  tellsNoRetryAfter?: true
  /** It fails for single recipients only, never as a whole. */
  failsByRecipient?: true
  /** Definitions of templates to be sent, undefined for one that isn't registered. Default: only that. */
  templates?: readonly (object | undefined)[]
  stop(): Promise<void>
}

const messages: Record<MessageType, Message[]> = {
  text: [{ type: 'text', text: { value: 'Grüße 👋' } }],
  template: [{ type: 'template', template: { name: 'welcome', variables: [{ key: 'name', value: 'Ann' }] } }],
  media: (['image', 'video', 'document', 'audio'] as const).map((mediaType) => ({
    type: 'media',
    media: { mediaType, mediaUrl: 'https://example.com/file' },
  })),
}

/** The promises that every provider keeps; each provider's test file runs them. */
export function describeProvider(name: string, open: () => Promise<Harness>): void {
  describe(`the provider contract: ${name}`, () => {
    const rules = providerOf(name)
    let harness: Harness
    beforeAll(async () => {
      harness = await open()
    })
    afterAll(() => harness.stop())

    async function call(behaviour: FakeServer, changes: Partial<Delivery<unknown>> = {}, withinMs = 100_000) {
      const delivery = await harness.arrange(behaviour, buildDelivery(rules, harness.goodConfig, changes))
      const sent = await timed(async () => ({
        outcome: await harness.provider.send(delivery, AbortSignal.timeout(withinMs)),
      }))
      return { ...sent, calls: await harness.taken(delivery.requestId) }
    }

    test('a good config is accepted, a bad one is not', () => {
      expect(rules.config.safeParse(harness.goodConfig).success).toBe(true)
      expect(rules.config.safeParse(harness.badConfig).success).toBe(false)
    })

    const declared = rules.messageTypes.flatMap((type: MessageType) => messages[type])
    test.each(declared)('sends what it says that it accepts: $type $media.mediaType', async (message) => {
      const { outcome, calls } = await call('accept', { message })
      expect(outcome.outcome).toBe('sent')
      expect(calls).toHaveLength(1)
    })

    test.each(rules.contactTypes)(
      'reaches the contacts that it says it reaches: %s',
      async (type: ContactType) => {
        expect(contactTypes).toContain(type)
        const contact = { type, value: contactKinds[type].example }
        expect((await call('accept', { contact })).outcome.outcome).toBe('sent')
      },
    )

    test("sent has the provider's message id", async () => {
      const { outcome } = await call('accept')
      expect(outcome).toMatchObject({ outcome: 'sent', providerMessageId: expect.stringMatching(/./) })
    })

    test('a definite refusal is rejected, with a reason', async () => {
      const { outcome } = await call('reject')
      expect(outcome).toMatchObject({ outcome: 'rejected', reason: expect.stringMatching(/./) })
    })

    test('a temporary failure is tried later', async () => {
      const { outcome } = await call('fail_for_a_while')
      expect(outcome).toMatchObject({ outcome: 'retry_later', reason: expect.stringMatching(/./) })
    })

    test('a rate limit is tried later, not before the provider says', async () => {
      const { outcome } = await call('limit_rate')
      expect(outcome.outcome).toBe('retry_later')
      if (harness.tellsNoRetryAfter) return
      expect(outcome).toMatchObject({ retryAfterMs: expect.any(Number) })
      expect((outcome as Extract<Outcome, { outcome: 'retry_later' }>).retryAfterMs).toBeGreaterThan(0)
    })

    test.each<[FakeServer, readonly Fault[]]>([
      ['reject', ['recipient', 'message']],
      ['fail_for_a_while', ['provider']],
      ['limit_rate', faults],
      ['drop_after_taking', ['provider']],
    ])('a failure says whose fault it is, and only its own stops the channel: %s', async (behaviour, own) => {
      const { outcome } = await call(behaviour)
      expect(harness.failsByRecipient ? ['recipient'] : own).toContain(Object(outcome).fault)
    })

    test('a connection lost after the message was taken is uncertain, never retried blindly', async () => {
      const { outcome } = await call('drop_after_taking')
      expect(outcome).toMatchObject({ outcome: 'uncertain', reason: expect.stringMatching(/./) })
    })

    test('a provider that never answers is given up on time, as uncertain', async () => {
      const sent = await call('never_answer', {}, 500)
      unlessStoodStill(sent, () => expect(sent.outcome.outcome).toBe('uncertain'))
      expectSooner(sent, 2000)
    })

    test('whatever the rules accept, the emulator accepts, which keeps the facts of the provider’s documents', async () => {
      const accepted = anyMessage(rules, harness.templates ?? [undefined])
      await fc.assert(
        fc.asyncProperty(accepted, async ({ message, content }) => {
          const fetched =
            message.type === 'media' && harness.provider.media ? Buffer.from('fetched') : undefined
          const { outcome } = await call('accept', { message, mediaContent: content ?? fetched })
          expect(outcome).toMatchObject({ outcome: 'sent' })
        }),
        { numRuns: 100 },
      )
    })

    test('a send is one call', async () => {
      expect((await call('accept')).calls).toHaveLength(1)
    })

    test('no reason repeats the content or the contact', async () => {
      const delivery = { message: { type: 'text', text: { value: 'a secret text' } } } as const
      for (const behaviour of ['reject', 'fail_for_a_while', 'drop_after_taking'] as const) {
        const { outcome } = await call(behaviour, delivery)
        expect(JSON.stringify(outcome)).not.toMatch(/a secret text|\+?1555010\d{4}/)
      }
    })
  })
}
