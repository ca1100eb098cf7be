import { setTimeout as sleep } from 'node:timers/promises'
import { describe, expect, test } from 'vitest'
import { CallSlots, type EndpointKind } from '../../../workers/callbacks/call-slots.ts'
import { CallsOfClaim, callsAtATime } from '../../../workers/callbacks/calls-of-claim.ts'

/** A call that ends when it is told to. */
function call() {
  let end = () => {}
  let record = () => {}
  const ended = new Promise<void>((resolve) => {
    end = resolve
  })
  const recorded = new Promise<void>((resolve) => {
    record = resolve
  })
  const work = async () => {
    await ended
    return () => recorded
  }
  return { end, record, work }
}

const url = 'https://example.com/'
/** Of an endpoint that hasn't answered lately. */
function claimOfNew(): CallsOfClaim {
  const calls = new CallsOfClaim()
  calls.noteRead({ url, isAnswering: false })
  return calls
}

const isPending = async (work: Promise<unknown>) =>
  await Promise.race([work.then(() => false), sleep(20).then(() => true)])

describe('the calls of a claim', () => {
  test('are one at a time, until one was answered; then four', async () => {
    const calls = claimOfNew()
    const first = call()
    calls.begin('1', first.work)
    const next = calls.mayBegin()
    expect(await isPending(next)).toBe(true)
    calls.noteAnswer({ url }, true)
    first.end()
    await next
    const others = Array.from({ length: callsAtATime }, call)
    for (const [at, { work }] of others.entries()) {
      await calls.mayBegin()
      calls.begin(`other ${at}`, work)
    }
    const fifth = calls.mayBegin()
    expect(await isPending(fifth)).toBe(true)
    others[2]?.end()
    await fifth
  })

  test('that are not recorded yet are not read again', async () => {
    const calls = claimOfNew()
    const one = call()
    calls.begin('1', one.work)
    one.end()
    await calls.mayBegin()
    expect(calls.requestIds()).toEqual(['1'])
    one.record()
    await calls.allRecorded()
    expect(calls.requestIds()).toEqual([])
  })

  test('end with a failure: whoever waits goes on, and sees it', async () => {
    const calls = claimOfNew()
    const one = call()
    calls.begin('1', one.work)
    const next = calls.mayBegin()
    calls.noteAnswer({ url }, false)
    one.end()
    await next
    expect(calls.hasEnded).toBe(true)
  })

  test('go on as with a new endpoint after its URL was changed, whatever the former one answers', () => {
    const calls = claimOfNew()
    calls.noteRead({ url: 'https://example.com/new', isAnswering: false })
    for (const isDelivered of [true, false]) calls.noteAnswer({ url }, isDelivered)
    expect(calls).toMatchObject({ isCareful: true, hasEnded: false })
  })

  test('read more and more while the endpoint answers', () => {
    const calls = claimOfNew()
    const first = calls.nextLimit()
    calls.noteRead({ url, isAnswering: true })
    const limits = Array.from({ length: 6 }, () => calls.nextLimit())
    expect(first).toBeLessThan(limits[0] ?? 0)
    expect(limits.at(-1)).toBe(256)
  })

  test('a fault of a record reaches whoever waits for all', async () => {
    const calls = claimOfNew()
    calls.begin('1', async () => async () => {
      throw new Error('not recorded')
    })
    await sleep(5)
    calls.begin('2', async () => async () => {})
    await expect(calls.allRecorded()).rejects.toThrow('not recorded')
  })
})

describe('the slots for calls', () => {
  const times = { endpointClaimMs: 60_000 }

  test('an answering endpoint that waits for too long gets none, and none is kept for it', async () => {
    const slots = new CallSlots(2, { endpointClaimMs: 20 })
    const held = await slots.acquire('answering')
    expect(await slots.acquire('answering')).toBeUndefined()
    held?.free()
    expect(slots.inUse).toBe(0)
    expect(await slots.acquire('answering')).toBeDefined()
  })

  test.each(['silent', 'failing'] as const)('a %s endpoint doesn’t wait for one', async (kind) => {
    const slots = new CallSlots(2, times)
    const held = slots.take(kind)
    expect(await slots.acquire(kind)).toBeUndefined()
    held?.free()
    expect(await slots.acquire(kind)).toBeDefined()
  })

  test('an endpoint uses the one that it has; if that is for another kind, it is given back', async () => {
    const slots = new CallSlots(6, times)
    const [kept, other] = [slots.take('silent'), slots.take('silent')]
    expect(await slots.acquire('silent', kept)).toBe(kept)
    const acquired = await slots.acquire('failing', other)
    expect(acquired?.kind).toBe('failing')
    expect(slots.inUse).toBe(2)
    expect(slots.take('silent')).toBeDefined()
  })

  test('a listener is called for each one that becomes free, unless it is passed on', async () => {
    const slots = new CallSlots(2, times)
    let free = 0
    slots.onFree = () => free++
    const held = slots.take('answering')
    const passedOn = slots.acquire('answering')
    held?.free()
    expect((await passedOn)?.kind).toBe('answering')
    expect(free).toBe(0)
    ;(await passedOn)?.free()
    expect(free).toBe(1)
  })

  test('answering ones wait in line, and a slot given back twice counts once', async () => {
    const slots = new CallSlots(3, times)
    const [first, second] = [await slots.acquire('answering'), await slots.acquire('answering')]
    const order: number[] = []
    const waiting = [1, 2].map(async (at) => {
      const release = await slots.acquire('answering')
      order.push(at)
      return release
    })
    first?.free()
    first?.free()
    await waiting[0]
    expect(await isPending(waiting[1] as Promise<unknown>)).toBe(true)
    second?.free()
    await waiting[1]
    expect(order).toEqual([1, 2])
    for (const release of await Promise.all(waiting)) release?.free()
    expect(slots.inUse).toBe(0)
  })

  test('one is for silent endpoints alone, so that they are called however busy the others are', async () => {
    const slots = new CallSlots(4, times)
    const held = await Promise.all([1, 2, 3].map(() => slots.acquire('answering')))
    const waiting = slots.acquire('answering')
    expect(await isPending(waiting)).toBe(true)
    const silent = await slots.acquire('silent')
    expect(silent).toBeDefined()
    expect(await slots.acquire('silent')).toBeUndefined()
    silent?.free()
    expect(await isPending(waiting)).toBe(true)
    expect(await slots.acquire('silent')).toBeDefined()
    held[0]?.free()
    expect(await waiting).toBeDefined()
  })

  test.each([
    ['failing', 'silent'],
    ['silent', 'failing'],
  ] as const)('%s endpoints leave a part of the half to %s ones', async (first, second) => {
    const slots = new CallSlots(16, times)
    const acquire = async (kind: EndpointKind, count: number) => {
      const held = await Promise.all(Array.from({ length: count }, () => slots.acquire(kind)))
      return held.filter((slot) => slot !== undefined)
    }
    const held = await acquire(first, 16)
    expect(held).toHaveLength(6)
    expect(await acquire(second, 16)).toHaveLength(2)
    held[0]?.free()
    expect(await acquire(second, 1)).toHaveLength(1)
    expect(await acquire(first, 1)).toHaveLength(0)
    expect(slots.inUse).toBe(8)
  })

  test.each([
    [2, 1],
    [3, 1],
    [4, 2],
  ])('of %i, those that don’t answer get %i: each kind at least one, if there are two', async (most, all) => {
    const slots = new CallSlots(most, times)
    const held = [await slots.acquire('silent'), await slots.acquire('failing')]
    expect(held.filter(Boolean)).toHaveLength(all)
    held[0]?.free()
    expect(await slots.acquire('failing')).toEqual(all === 1 ? expect.anything() : undefined)
  })
})
