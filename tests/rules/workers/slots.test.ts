import { setImmediate as endOfTick } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { maxWork, minWork, raisedBy } from '../../../workers/queue/overflow-limit.ts'
import { type QueueKind, Slots } from '../../../workers/queue/slots.ts'

/** A send in its slot, step by step as the test wants it. */
interface Trial {
  /** Whether it has a slot. */
  hasSlot: boolean
  /** It is claimed, and its call begins. */
  call(): void
  /** Its call is answered; its outcome has yet to be recorded. */
  answer(): Promise<void>
  end(): Promise<void>
}

function begin(slots: Slots, queue: QueueKind, account = 'flooder'): Trial {
  const steps: Record<'called' | 'answered' | 'ended', () => void> = {
    called: () => {},
    answered: () => {},
    ended: () => {},
  }
  const step = (name: keyof typeof steps) => new Promise<void>((resolve) => (steps[name] = resolve))
  const [called, answered, ended] = [step('called'), step('answered'), step('ended')]
  const trial: Trial = {
    hasSlot: false,
    call: () => steps.called(),
    async answer() {
      steps.called()
      steps.answered()
      await endOfTick()
    },
    async end() {
      await trial.answer()
      steps.ended()
      await endOfTick()
    },
  }
  const useSlot = async () => {
    const slot = await slots.acquire(queue)
    trial.hasSlot = true
    await called
    slot.claimedFor(account)
    slot.pauseWork()
    await answered
    slot.resumeWork()
    await ended
    slot.release()
  }
  void useSlot()
  return trial
}

async function beginMany(slots: Slots, count: number, queue: QueueKind, account?: string): Promise<Trial[]> {
  const trials = Array.from({ length: count }, () => begin(slots, queue, account))
  await endOfTick()
  return trials
}

const withSlot = (trials: readonly Trial[]) => trials.filter(({ hasSlot }) => hasSlot)

/** All that have a slot call, until no further ones get one. */
async function callAll(trials: readonly Trial[]): Promise<void> {
  for (let before = -1; before < withSlot(trials).length; ) {
    before = withSlot(trials).length
    for (const trial of withSlot(trials)) trial.call()
    await endOfTick()
  }
}

/** So many sends of a backlog end one after the other while others of it wait, so that the limit rises. */
async function raise(slots: Slots, ends: number): Promise<Trial[]> {
  const trials = await beginMany(slots, ends + 2 * maxWork, 'overflow')
  for (let i = 0; i < ends; i++) await trials[i]?.end()
  return trials
}

test('slow calls of a backlog use all slots but a twentieth, which sends of others get at once', async () => {
  const slots = new Slots(100)
  const backlog = await beginMany(slots, 200, 'overflow')
  await callAll(backlog)
  expect(withSlot(backlog)).toHaveLength(95)
  const others = await beginMany(slots, 10, 'ordinary', 'other')
  expect(withSlot(others)).toHaveLength(5)
})

test('a worker takes as many wake-ups as find a slot, however many of them wait for the work on others', async () => {
  const slots = new Slots(100)
  expect([slots.roomFor('ordinary'), slots.roomFor('overflow')]).toEqual([100, 95])
  const backlog = await beginMany(slots, 50, 'overflow')
  expect(withSlot(backlog).length).toBeLessThan(50)
  expect(slots.roomFor('overflow')).toBe(45)
  await callAll([...backlog, ...(await beginMany(slots, 45, 'overflow'))])
  expect([slots.roomFor('ordinary'), slots.roomFor('overflow')]).toEqual([5, 0])
  await callAll(await beginMany(slots, 5, 'ordinary', 'other'))
  await beginMany(slots, 1, 'ordinary', 'other')
  expect([slots.roomFor('ordinary'), slots.roomFor('overflow')]).toEqual([0, 0])
})

test('a backlog may wait for its own share, although others have taken it', async () => {
  const slots = new Slots(100)
  await callAll(await beginMany(slots, 100, 'ordinary', 'other'))
  expect(slots.roomFor('overflow')).toBe(5)
  await beginMany(slots, 3, 'overflow')
  expect([slots.roomFor('ordinary'), slots.roomFor('overflow')]).toEqual([0, 2])
})

test('the slots of calls that end go to others first, until the others have all that they need', async () => {
  const slots = new Slots(100)
  const backlog = await beginMany(slots, 200, 'overflow')
  await callAll(backlog)
  const others = await beginMany(slots, 20, 'ordinary', 'other')
  await callAll(others)
  const called = withSlot(backlog)
  for (const trial of called.slice(0, 15)) await trial.end()
  await callAll(others)
  expect(withSlot(others)).toHaveLength(20)
  expect(withSlot(backlog)).toHaveLength(95)
})

test('the more slots others use, the more are kept free for them', async () => {
  const slots = new Slots(1000)
  await callAll(await beginMany(slots, 100, 'ordinary', 'other'))
  const backlog = await beginMany(slots, 1000, 'overflow')
  await callAll(backlog)
  expect(withSlot(backlog)).toHaveLength(750)
  const more = await beginMany(slots, 150, 'ordinary', 'other')
  await callAll(more)
  expect(withSlot(more)).toHaveLength(150)
})

test('slow calls of others leave a twentieth of the slots to a backlog that waits', async () => {
  const slots = new Slots(100)
  const others = await beginMany(slots, 200, 'ordinary', 'other')
  await callAll(others)
  expect(withSlot(others)).toHaveLength(100)
  const backlog = await beginMany(slots, 20, 'overflow')
  for (const trial of withSlot(others).slice(0, 20)) await trial.end()
  await callAll(backlog)
  await callAll(others)
  expect(withSlot(backlog)).toHaveLength(5)
  expect(withSlot(others)).toHaveLength(115)
})

test('a send that waits for its provider takes none of the work that the worker does at a time', async () => {
  const slots = new Slots(1000)
  const backlog = await beginMany(slots, 100, 'overflow')
  expect(withSlot(backlog)).toHaveLength(minWork)
  for (const trial of withSlot(backlog)) trial.call()
  await endOfTick()
  expect(withSlot(backlog)).toHaveLength(2 * minWork)
  // Their outcomes are work again.
  for (const trial of withSlot(backlog).slice(0, minWork)) await trial.answer()
  for (const trial of withSlot(backlog)) trial.call()
  await endOfTick()
  expect(withSlot(backlog)).toHaveLength(2 * minWork)
})

test('work on the ordinary queue is bounded, too, and starts before any on a backlog', async () => {
  const slots = new Slots(1000)
  const ordinary = await beginMany(slots, 300, 'ordinary', 'other')
  expect(withSlot(ordinary)).toHaveLength(256)
  const backlog = await beginMany(slots, 100, 'overflow')
  expect(withSlot(backlog)).toHaveLength(minWork)
  for (let i = 0; i < 44; i++) await ordinary[i]?.end()
  expect(withSlot(ordinary)).toHaveLength(300)
  expect(withSlot(backlog)).toHaveLength(minWork)
})

test('the work on a backlog grows with each send that ends while others of it wait, up to a bound', async () => {
  const slots = new Slots(1000)
  await raise(slots, 100)
  expect(slots.overflowLimit).toBeCloseTo(minWork + 100 * raisedBy)
  const long = new Slots(1000)
  await raise(long, maxWork / raisedBy)
  expect(long.overflowLimit).toBe(maxWork)
})

test('it does not grow while calls are slow, so that the bound on work is not reached', async () => {
  const slots = new Slots(100)
  const backlog = await beginMany(slots, 200, 'overflow')
  await callAll(backlog)
  for (const trial of withSlot(backlog).slice(0, 50)) {
    await trial.end()
    await callAll(backlog)
  }
  expect(slots.overflowLimit).toBe(minWork)
})

test("each send of another account halves it, down to a bound; the backlog's own account and other backlogs don't", async () => {
  const slots = new Slots(1000)
  const backlog = await raise(slots, (200 - minWork) / raisedBy)
  withSlot(backlog).at(-1)?.call()
  await endOfTick()
  const before = slots.overflowLimit
  await begin(slots, 'overflow', 'another flooder').answer()
  await begin(slots, 'ordinary', 'flooder').answer()
  expect(slots.overflowLimit).toBe(before)
  await begin(slots, 'ordinary', 'other').answer()
  expect(slots.overflowLimit).toBe(before / 2)
  for (let i = 0; i < 10; i++) await begin(slots, 'ordinary', 'other').answer()
  expect(slots.overflowLimit).toBe(minWork)
})

test.for([1, 2, 5, 30])('of %i slots a backlog takes all but one or two, and one at least', async (count) => {
  const slots = new Slots(count)
  const backlog = await beginMany(slots, 100, 'overflow')
  await callAll(backlog)
  expect(withSlot(backlog)).toHaveLength(Math.max(1, count - Math.ceil(count / 20)))
})

test.for([1, 2, 5, 19])(
  'of %i slots, each queue gets one in time, however much the other has waiting',
  async (count) => {
    const slots = new Slots(count)
    const queues = [
      { ended: 0, trials: await beginMany(slots, 200, 'ordinary', 'other') },
      { ended: 0, trials: await beginMany(slots, 200, 'overflow') },
    ]
    for (let i = 0; i < 100; i++) {
      for (const queue of queues) {
        const first = queue.trials[queue.ended]
        if (!first?.hasSlot) continue
        await first.end()
        queue.ended++
      }
    }
    for (const { ended } of queues) expect(ended).toBeGreaterThan(40)
  },
)

test('when the worker stops, nothing waits for a slot any more', async () => {
  const slots = new Slots(2)
  const trials = [...(await beginMany(slots, 10, 'ordinary')), ...(await beginMany(slots, 10, 'overflow'))]
  slots.startAll()
  await endOfTick()
  expect(withSlot(trials)).toHaveLength(20)
})

test('a slot that is given back while its send waits for the provider counts as given back once', async () => {
  const slots = new Slots(100)
  const slot = await slots.acquire('ordinary')
  slot.pauseWork()
  slot.release()
  expect(slots.atWork('ordinary')).toBe(0)
})
