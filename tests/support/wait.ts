import { setTimeout as sleep } from 'node:timers/promises'

/** Asks until the answer is there, every 20 ms; fails with the question's name after `withinMs`. */
export async function eventually<T>(
  what: string,
  ask: () => Promise<T | undefined | false>,
  withinMs = 15_000,
): Promise<T> {
  for (const deadline = Date.now() + withinMs; Date.now() < deadline; await sleep(20)) {
    const answer = await ask()
    if (answer !== undefined && answer !== false) return answer
  }
  throw new Error(`${what}: not within ${withinMs} ms`)
}
