import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type {
  ReadReceipts,
  ReceiptKind,
  ReceiptRequest,
  ReceiptRules,
} from '../../../src/core/receipts/receipt.ts'
import { type ProviderName, providers } from '../../../src/providers/index.ts'

/** A provider's part of the suite. */
export interface ReceiptHarness {
  /** Configs of two channels that take receipts, with other secrets. */
  config: object
  otherConfig: object
  /** A config without what receipts need; absent if they are always on. */
  offConfig?: object
  /** The provider's words, and what they mean. */
  words: Record<string, ReceiptKind>
  /** Words that come in requests of another form, which have tests of their own. */
  otherWords?: Record<string, ReceiptKind>
  /** A request with one receipt, signed for `config` by something else than the code under test. */
  request(requestId: string, word: string): Promise<ReceiptRequest>
  /** Well-signed requests about something else than the result of a message. */
  unexpected: Record<string, () => Promise<ReceiptRequest>>
  /** Well-signed requests that can't be read. */
  unreadable: Record<string, () => Promise<ReceiptRequest>>
  /** Signs a request again after its body was changed; absent if the proof doesn't cover the body. */
  sign?(request: ReceiptRequest): ReceiptRequest
}

export const aRequestId = '01a1fde3-04b0-709e-bec0-b940cc7af3c0'
export const contactPhone = '+4915112345678'
export const contactMail = 'ann.example@example.com'

/** The promises that the receipts of every provider keep. */
export function describeReceipts(name: ProviderName, harness: ReceiptHarness): void {
  describe(`the contract of receipts: ${name}`, () => {
    const { config: schema, receipts } = providers[name]
    const rules = receipts as ReceiptRules
    const config = schema.parse(harness.config)
    const otherConfig = schema.parse(harness.otherConfig)
    const [aWord = ''] = Object.keys(harness.words)

    async function read(request: ReceiptRequest): Promise<ReadReceipts> {
      const result = await rules.read(request, config)
      if ('issue' in result) throw new Error(result.issue)
      return result
    }

    test('the words of its page are those that it reads, each with its meaning', () => {
      expect({ ...harness.words, ...harness.otherWords }).toEqual(rules.words)
    })

    test('a channel takes receipts only with what they need', () => {
      expect(rules.areOn(config)).toBe(true)
      if (harness.offConfig) expect(rules.areOn(schema.parse(harness.offConfig))).toBe(false)
    })

    test('a request by the channel’s secret is proven, and by another secret it is not', async () => {
      const request = await harness.request(aRequestId, aWord)
      expect(rules.isProven(request, config)).toBe(true)
      expect(rules.isProven(request, otherConfig)).toBe(false)
    })

    test('without any of its headers, a request is not proven', async () => {
      const request = await harness.request(aRequestId, aWord)
      expect(rules.isProven({ ...request, headers: {} }, config)).toBe(false)
    })

    test('a signed request with another body is not proven', async () => {
      if (!harness.sign) return
      const request = await harness.request(aRequestId, aWord)
      for (const at of [0, request.body.length >> 1, request.body.length - 1]) {
        const body = Buffer.from(request.body)
        body[at] = (body[at] ?? 0) ^ 1
        expect(rules.isProven({ ...request, body }, config)).toBe(false)
      }
      expect(rules.isProven({ ...request, body: Buffer.alloc(0) }, config)).toBe(false)
    })

    test.each(Object.entries(harness.words))('%s means %s', async (word, kind) => {
      const { receipts, unexpected, unreadable } = await read(await harness.request(aRequestId, word))
      expect({ unexpected, unreadable }).toEqual({ unexpected: 0, unreadable: 0 })
      expect(receipts).toMatchObject([{ requestId: aRequestId, kind, providerStatus: word }])
    })

    test('only a message that was not delivered has a reason, which repeats no contact', async () => {
      for (const [word, kind] of Object.entries(harness.words)) {
        const { receipts } = await read(await harness.request(aRequestId, word))
        for (const receipt of receipts) {
          if (kind !== 'undelivered') expect(receipt.reason).toBeUndefined()
          const { providerMessageId: _, ...shown } = receipt
          expect(JSON.stringify(shown)).not.toMatch(/4915112345678|ann\.example/)
        }
      }
    })

    test.each(Object.entries(harness.unexpected))('%s is counted, and no receipt', async (_, build) => {
      const request = await build()
      expect(rules.isProven(request, config)).toBe(true)
      const { receipts, unexpected } = await read(request)
      expect({ receipts, isCounted: unexpected > 0 }).toEqual({ receipts: [], isCounted: true })
    })

    test.each(Object.entries(harness.unreadable))('%s is refused, and why', async (_, build) => {
      const request = await build()
      expect(rules.isProven(request, config)).toBe(true)
      expect(await rules.read(request, config)).toEqual({ issue: expect.stringMatching(/^\S+.*: ./) })
    })

    test('whatever comes, reading it never throws', async () => {
      const request = await harness.request(aRequestId, aWord)
      const text = request.body.toString()
      const changed = fc
        .record({
          at: fc.nat(text.length),
          cut: fc.nat(40),
          put: fc.oneof(fc.string(), fc.json(), fc.constant('\0')),
        })
        .map(({ at, cut, put }) => text.slice(0, at) + put + text.slice(at + cut))
      await fc.assert(
        fc.asyncProperty(fc.oneof(changed, fc.json(), fc.string()), async (body) => {
          const hostile = { ...request, body: Buffer.from(body) }
          rules.isProven(hostile, config)
          await rules.read(hostile, config)
        }),
        { numRuns: 200 },
      )
    })
  })
}
