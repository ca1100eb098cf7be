import { expect, test } from 'vitest'
import { SignInQueue } from '../../../src/admin/people/sign-in-queue.ts'

/** A queue of one hash at once, whose hashes end when the test says so. */
function queueOf(waiting: number) {
  const queue = new SignInQueue({ atOnce: 1, waiting })
  const running: ((isRight: boolean) => void)[] = []
  const ran: string[] = []
  const attempt = (who: string, network: string, isKnown = false) =>
    queue.check({ network, isKnown }, () => {
      ran.push(who)
      return new Promise((end) => running.push(end))
    })
  const nextTurn = () => new Promise(setImmediate)
  const endNext = async (isRight = false) => {
    await nextTurn()
    running.shift()?.(isRight)
    await nextTurn()
  }
  return { attempt, endNext, ran }
}

test('a person goes first where they signed in before, then the network with the fewest failures, then the newest', async () => {
  const { attempt, endNext, ran } = queueOf(10)
  const all = [attempt('stranger 1', 'a'), attempt('stranger 2', 'a'), attempt('stranger 3', 'a')]
  all.push(attempt('known', 'a', true), attempt('elsewhere', 'b'), attempt('stranger 4', 'a'))
  for (const _ of all) await endNext()
  await Promise.all(all)
  expect(ran).toEqual(['stranger 1', 'known', 'elsewhere', 'stranger 4', 'stranger 3', 'stranger 2'])
})

test('when too many wait, the oldest of the network with the most failures gives way', async () => {
  const { attempt, endNext, ran } = queueOf(2)
  const first = attempt('first', 'a')
  const [oldest, newer] = [attempt('oldest', 'a'), attempt('newer', 'a')]
  const elsewhere = attempt('elsewhere', 'b')
  expect(await oldest).toBe('busy')
  for (let n = 0; n < 3; n++) await endNext()
  expect(await Promise.all([first, newer, elsewhere])).toEqual([false, false, false])
  expect(ran).toEqual(['first', 'elsewhere', 'newer'])
})

test('a right password is no failure of its network', async () => {
  const { attempt, endNext, ran } = queueOf(10)
  for (let n = 0; n < 3; n++) {
    const right = attempt(`right ${n}`, 'a')
    await endNext(true)
    expect(await right).toBe(true)
  }
  const all = [attempt('running', 'c'), attempt('of a', 'a'), attempt('of b', 'b'), attempt('of b too', 'b')]
  for (const _ of all) await endNext()
  await Promise.all(all)
  expect(ran.slice(3)).toEqual(['running', 'of a', 'of b too', 'of b'])
})

test('a hash that fails frees its place', async () => {
  const queue = new SignInQueue({ atOnce: 1, waiting: 1 })
  const who = { network: 'a', isKnown: false }
  await expect(queue.check(who, () => Promise.reject(new Error('no memory')))).rejects.toThrow('no memory')
  expect(await queue.check(who, async () => true)).toBe(true)
})
