import { expect, test } from 'vitest'
import { maxReads, mediaReadsOf } from '../../../workers/sends/dispatch/load-media.ts'

test.each([
  [1, 1],
  [2, 1],
  [5, 2],
  [8, maxReads],
  [1000, maxReads],
])('of a pool of %i connections, %i may read media at a time', (poolSize, reads) => {
  expect(mediaReadsOf(poolSize)).toBe(reads)
})
