import { setImmediate as nextTurn } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { freeMemory } from '../../../../src/platform/memory/free-memory.ts'
import { eventually } from '../../../support/wait.ts'

const mebibyte = 1024 * 1024

test('large buffers are freed at once, without a garbage collection', async () => {
  const before = process.memoryUsage().arrayBuffers
  for (let i = 0; i < 20; i++) {
    const bytes = Buffer.allocUnsafeSlow(16 * mebibyte)
    freeMemory(bytes)
    expect(bytes.length).toBe(0)
    await nextTurn()
  }
  await eventually('less than two of them are left', async () => {
    return process.memoryUsage().arrayBuffers - before < 32 * mebibyte
  })
})

test('buffers that share their memory, and small ones, stay as they are', () => {
  const shared = Buffer.allocUnsafeSlow(2 * mebibyte)
  freeMemory(shared.subarray(mebibyte))
  expect(shared.length).toBe(2 * mebibyte)
  const few = Buffer.allocUnsafeSlow(1024)
  freeMemory(few)
  expect(few.length).toBe(1024)
})
