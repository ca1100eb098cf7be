import { setTimeout as sleep } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { NoRoom, Room } from '../../src/platform/room.ts'

const long = 60_000

/** Notes when the guest is in. */
function visit(room: Room, bytes: number, owner = 'a', within = long, signal?: AbortSignal) {
  const visit = { isIn: false, leave: () => {} }
  const entered = room.enter({ bytes, owner }, within, signal).then((leave) => {
    visit.isIn = true
    visit.leave = leave
  })
  entered.catch(() => {})
  return Object.assign(visit, { entered })
}

const settled = () => sleep(1)

test('never holds more than its bytes, and serves all in their order', async () => {
  const room = new Room({ bytes: 100, bytesOfOwner: 100 })
  const visits = Array.from({ length: 20 }, (_, index) => visit(room, 10 + ((index * 7) % 30), `${index}`))
  const served: number[] = []
  while (served.length < visits.length) {
    await settled()
    expect(room.takenBytes).toBeLessThanOrEqual(100)
    const next = visits.findIndex(({ isIn }, index) => isIn && !served.includes(index))
    served.push(next)
    visits[next]?.leave()
  }
  expect(served).toEqual(visits.map((_, index) => index))
  expect(room.takenBytes).toBe(0)
})

test('those who wait can be refused together, and those who come then are served', async () => {
  const room = new Room({ bytes: 100, bytesOfOwner: 100 })
  const first = visit(room, 60)
  const waiting = [visit(room, 60, 'b'), visit(room, 60, 'c')]
  room.refuseWaiting()
  for (const { entered } of waiting) await expect(entered).rejects.toThrow(NoRoom)
  const later = visit(room, 60, 'b')
  first.leave()
  await later.entered
  expect(room.takenBytes).toBe(60)
})

test('a small guest does not overtake a large one that waits', async () => {
  const room = new Room({ bytes: 100, bytesOfOwner: 100 })
  const first = visit(room, 60)
  const large = visit(room, 50, 'b')
  const small = visit(room, 10, 'c')
  await settled()
  expect([first.isIn, large.isIn, small.isIn]).toEqual([true, false, false])
  first.leave()
  await settled()
  expect([large.isIn, small.isIn]).toEqual([true, true])
})

test('an owner has its share at most, and whoever waits for it lets the others by', async () => {
  const room = new Room({ bytes: 100, bytesOfOwner: 50 })
  const [first, second, beyond] = [visit(room, 25), visit(room, 25), visit(room, 25)]
  const other = visit(room, 50, 'b')
  await settled()
  expect([first.isIn, second.isIn, beyond.isIn, other.isIn]).toEqual([true, true, false, true])
  other.leave()
  await settled()
  expect(beyond.isIn).toBe(false)
  first.leave()
  await settled()
  expect(beyond.isIn).toBe(true)
})

test('a guest that is larger than a share is let in by itself', async () => {
  const room = new Room({ bytes: 100, bytesOfOwner: 50 })
  expect(visit(room, 80)).toBeDefined()
  const second = visit(room, 80)
  await settled()
  expect([room.takenBytes, second.isIn]).toEqual([80, false])
})

test('who waits too long is told so, and those behind it go on', async () => {
  const room = new Room({ bytes: 100, bytesOfOwner: 100 })
  visit(room, 60)
  const large = visit(room, 90, 'b', 20)
  const small = visit(room, 30, 'c')
  await expect(large.entered).rejects.toThrow(NoRoom)
  await settled()
  expect([small.isIn, room.waiting]).toEqual([true, 0])
})

test('who goes away while it waits leaves the line, and those behind it go on', async () => {
  const room = new Room({ bytes: 100, bytesOfOwner: 100 })
  visit(room, 60)
  const gone = new AbortController()
  const large = visit(room, 90, 'b', long, gone.signal)
  const small = visit(room, 30, 'c')
  gone.abort(new Error('gone'))
  await expect(large.entered).rejects.toThrow('gone')
  await settled()
  expect([small.isIn, room.waiting]).toEqual([true, 0])
})

test('who leaves twice has left once', async () => {
  const room = new Room({ bytes: 100, bytesOfOwner: 100 })
  const [first, second] = [visit(room, 60), visit(room, 40)]
  await settled()
  first.leave()
  first.leave()
  expect(room.takenBytes).toBe(40)
  expect(second.isIn).toBe(true)
})
