import { serve } from '../../../../src/platform/memory/thread.ts'

export type Trial =
  | { echo: Uint8Array; busyMs?: number }
  | 'throw'
  | 'exit'
  | 'fail uncaught'
  | 'fill its memory'

/** Does what a test asks of it. */
serve<string, Trial, string | Uint8Array>((given) => (asked) => {
  if (asked === 'throw') throw new RangeError('thrown in the thread')
  if (asked === 'exit') process.exit(3)
  if (asked === 'fill its memory') return { output: `${fill([]).length}` }
  if (asked === 'fail uncaught') {
    setImmediate(() => {
      throw new TypeError('not caught in the thread')
    })
    // Too late for the answer, which it never gives.
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 20)
    throw new Error(given)
  }
  for (const until = performance.now() + (asked.busyMs ?? 0); performance.now() < until; );
  return { output: asked.echo, transfer: [asked.echo.buffer as ArrayBuffer] }
})

/** By large arrays: filled with small objects, the heap may grow so fast that V8 ends the whole process. */
function fill(kept: unknown[]): unknown[] {
  for (;;) kept.push(new Array(100_000).fill(kept.length))
}
