import { setTimeout as sleep } from 'node:timers/promises'

/** No promise, but the end of what hangs: far beyond what a busy machine takes. */
const longestWaitMs = 30_000

/** Asks until the answer is there, every 20 ms; fails with the question's name after `withinMs`. */
export async function eventually<T>(
  what: string,
  ask: () => Promise<T | undefined | false>,
  withinMs = longestWaitMs,
): Promise<T> {
  for (const deadline = Date.now() + withinMs; Date.now() < deadline; await sleep(20)) {
    const answer = await ask()
    if (answer !== undefined && answer !== false) return answer
  }
  throw new Error(`${what}: not within ${withinMs} ms`)
}
