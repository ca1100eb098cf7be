import { setTimeout as sleep } from 'node:timers/promises'

/** No promise, but the end of a hanging test: far beyond what a busy machine takes. */
const longestWaitMs = 200_000

/** Calls `ask` every 20 ms until it returns an answer; fails with the name of the question after `withinMs`. */
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
