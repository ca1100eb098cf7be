import { randomBytes } from 'node:crypto'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { joined, lengthOf, Pieces } from '../../../src/api/body/pieces.ts'

const kibibyte = 1024

function gather(bytes: readonly Buffer[]): Pieces {
  const pieces = new Pieces()
  for (const each of bytes) pieces.add(each)
  return pieces
}

test('however bytes arrive, all are kept, in order, each piece in memory of its own', () => {
  const sizes = fc.array(fc.oneof(fc.nat(200), fc.nat(200 * kibibyte)), { maxLength: 40 })
  fc.assert(
    fc.property(sizes, fc.boolean(), (lengths, areParts) => {
      const all = randomBytes(lengths.reduce((sum, length) => sum + length, 0))
      const ends = lengths.map((_, n) => lengths.slice(0, n + 1).reduce((sum, length) => sum + length, 0))
      const cut = lengths.map((length, n) => all.subarray((ends[n] ?? 0) - length, ends[n]))
      const gathered = gather(areParts ? cut : cut.map((part) => Buffer.from(new Uint8Array(part).buffer)))
      expect(gathered.length).toBe(all.length)
      const pieces = gathered.all()
      expect(lengthOf(pieces)).toBe(all.length)
      expect(joined(pieces).equals(all)).toBe(true)
      for (const { byteLength, buffer } of pieces) expect(byteLength).toBe(buffer.byteLength)
    }),
    { numRuns: 200 },
  )
})

test('large pieces are not copied', () => {
  const large = [1, 2].map((fill) => Buffer.from(new Uint8Array(64 * kibibyte).fill(fill).buffer))
  const [first, second] = gather(large).all()
  expect([first, second]).toEqual(large)
  expect(first?.buffer).toBe(large[0]?.buffer)
})

test('a million single bytes are few pieces, and so are single bytes between large ones', () => {
  const one = Buffer.from(new Uint8Array([1]).buffer)
  const large = Buffer.from(new Uint8Array(32 * kibibyte).buffer)
  expect(gather(Array(1_000_000).fill(one)).all().length).toBeLessThan(20)
  const between = gather([one, large, one, large, one]).all()
  expect(between.map(({ length }) => length)).toEqual([1, large.length, 1, large.length, 1])
  expect(between.map(({ buffer }) => buffer.byteLength)).toEqual(between.map(({ length }) => length))
})
