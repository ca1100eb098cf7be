import { setTimeout as sleep } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { MemoryBudget } from '../../../../src/platform/memory/memory-budget.ts'
import { NotAcquired } from '../../../../src/platform/memory/semaphore.ts'

const settled = () => sleep(1)

/** Whether it has reserved so many bytes. */
function reserving(budget: MemoryBudget, bytes: number, owner = 'a') {
  const reservation = budget.reservationFor(owner)
  const one = { ...reservation, isReserved: false, reserved: reservation.reserve(bytes) }
  one.reserved.then(
    () => (one.isReserved = true),
    () => {},
  )
  return one
}

test('an owner uses half of it, and others the rest', async () => {
  const budget = new MemoryBudget({ bytes: 100, waitMs: 60_000 })
  const [first, second, other] = [reserving(budget, 40), reserving(budget, 40), reserving(budget, 40, 'b')]
  await settled()
  expect([first, second, other].map(({ isReserved }) => isReserved)).toEqual([true, false, true])
  first.release()
  await settled()
  expect(second.isReserved).toBe(true)
})

test('what turns out to be smaller gives back the rest', async () => {
  const budget = new MemoryBudget({ bytes: 100, waitMs: 60_000 })
  const first = reserving(budget, 50)
  await settled()
  const second = reserving(budget, 40)
  const shrinkTo = await first.reserved
  shrinkTo(10)
  await settled()
  expect(second.isReserved).toBe(true)
  expect(budget.usedBytes).toBe(50)
  shrinkTo(30)
  expect(budget.usedBytes).toBe(50)
  first.release()
  second.release()
  expect(budget.usedBytes).toBe(0)
})

test('several parts of one piece of work shrink each by itself, and are all given back at its end', async () => {
  const budget = new MemoryBudget({ bytes: 100, waitMs: 60_000 })
  const memory = budget.reservationFor('a')
  await memory.reserve(20)
  const shrinkTo = await memory.reserve(16)
  shrinkTo(1)
  expect(budget.usedBytes).toBe(21)
  await memory.reserve(4)
  expect(budget.usedBytes).toBe(25)
  memory.release()
  expect(budget.usedBytes).toBe(0)
})

test('what is over before it was its turn takes nothing', async () => {
  const budget = new MemoryBudget({ bytes: 100, waitMs: 60_000 })
  const first = reserving(budget, 50)
  await settled()
  const late = reserving(budget, 50)
  late.release()
  first.release()
  await late.reserved
  expect(budget.usedBytes).toBe(0)
})

test('a wait ends in time, or at once when all are refused', async () => {
  const budget = new MemoryBudget({ bytes: 100, waitMs: 20 })
  const first = reserving(budget, 50)
  await settled()
  await expect(reserving(budget, 50).reserved).rejects.toBeInstanceOf(NotAcquired)
  const patient = new MemoryBudget({ bytes: 100, waitMs: 60_000 })
  const held = reserving(patient, 50)
  await settled()
  const waiting = reserving(patient, 50)
  patient.refuseWaiting()
  await expect(waiting.reserved).rejects.toBeInstanceOf(NotAcquired)
  for (const one of [first, held]) one.release()
})
