import { setTimeout as sleep } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { NotAcquired, Semaphore } from '../../../../src/platform/memory/semaphore.ts'

const long = 60_000

/** Notes when the units are held. */
function request(semaphore: Semaphore, units: number, owner = 'a', within = long, signal?: AbortSignal) {
  const request = { isHeld: false, release: () => {} }
  const acquired = semaphore.acquire({ units, owner }, within, signal).then((release) => {
    request.isHeld = true
    request.release = release
  })
  acquired.catch(() => {})
  return Object.assign(request, { acquired })
}

const settled = () => sleep(1)

test('never grants more than its units, and serves requests in order', async () => {
  const semaphore = new Semaphore({ units: 100, unitsOfOwner: 100 })
  const requests = Array.from({ length: 20 }, (_, index) =>
    request(semaphore, 10 + ((index * 7) % 30), `${index}`),
  )
  const served: number[] = []
  while (served.length < requests.length) {
    await settled()
    expect(semaphore.takenUnits).toBeLessThanOrEqual(100)
    const next = requests.findIndex(({ isHeld }, index) => isHeld && !served.includes(index))
    served.push(next)
    requests[next]?.release()
  }
  expect(served).toEqual(requests.map((_, index) => index))
  expect(semaphore.takenUnits).toBe(0)
})

test('a request that is refused fails with the words of the semaphore', async () => {
  const semaphore = new Semaphore({ units: 1, unitsOfOwner: 1, refusal: 'all are taken' })
  request(semaphore, 1)
  await expect(request(semaphore, 1, 'b', 1).acquired).rejects.toThrow(new NotAcquired('all are taken'))
})

test('all waiting requests can be refused together, and later ones are granted', async () => {
  const semaphore = new Semaphore({ units: 100, unitsOfOwner: 100 })
  const first = request(semaphore, 60)
  const waiting = [request(semaphore, 60, 'b'), request(semaphore, 60, 'c')]
  semaphore.refuseWaiting()
  for (const { acquired } of waiting) await expect(acquired).rejects.toThrow(NotAcquired)
  const later = request(semaphore, 60, 'b')
  first.release()
  await later.acquired
  expect(semaphore.takenUnits).toBe(60)
})

test('a small request does not overtake a large one that waits', async () => {
  const semaphore = new Semaphore({ units: 100, unitsOfOwner: 100 })
  const first = request(semaphore, 60)
  const large = request(semaphore, 50, 'b')
  const small = request(semaphore, 10, 'c')
  await settled()
  expect([first.isHeld, large.isHeld, small.isHeld]).toEqual([true, false, false])
  first.release()
  await settled()
  expect([large.isHeld, small.isHeld]).toEqual([true, true])
})

test('an owner holds its share at most, and its waiting delays no other owner', async () => {
  const semaphore = new Semaphore({ units: 100, unitsOfOwner: 50 })
  const [first, second, beyond] = [request(semaphore, 25), request(semaphore, 25), request(semaphore, 25)]
  const other = request(semaphore, 50, 'b')
  await settled()
  expect([first.isHeld, second.isHeld, beyond.isHeld, other.isHeld]).toEqual([true, true, false, true])
  other.release()
  await settled()
  expect(beyond.isHeld).toBe(false)
  first.release()
  await settled()
  expect(beyond.isHeld).toBe(true)
})

test('a request for more than a share is granted to an owner that holds none', async () => {
  const semaphore = new Semaphore({ units: 100, unitsOfOwner: 50 })
  expect(request(semaphore, 80)).toBeDefined()
  const second = request(semaphore, 80)
  await settled()
  expect([semaphore.takenUnits, second.isHeld]).toEqual([80, false])
})

test('of those waiting, the owner that holds least is served first', async () => {
  const semaphore = new Semaphore({ units: 3, unitsOfOwner: 3 })
  const [first, second] = [request(semaphore, 1), request(semaphore, 1)]
  request(semaphore, 1, 'b')
  const more = request(semaphore, 1)
  const others = [request(semaphore, 1, 'b'), request(semaphore, 1, 'c')]
  await settled()
  first.release()
  await settled()
  expect([more.isHeld, ...others.map(({ isHeld }) => isHeld)]).toEqual([false, false, true])
  second.release()
  await settled()
  expect([more.isHeld, ...others.map(({ isHeld }) => isHeld)]).toEqual([true, false, true])
})

test('where each first request is granted, full units refuse only second ones', async () => {
  const semaphore = new Semaphore({ units: 2, unitsOfOwner: 2, alwaysGrantsFirst: true })
  request(semaphore, 1)
  request(semaphore, 1)
  const second = [request(semaphore, 1, 'b'), request(semaphore, 1, 'b')]
  const later = request(semaphore, 1, 'c')
  await settled()
  expect([...second, later].map(({ isHeld }) => isHeld)).toEqual([true, false, true])
  expect([semaphore.holdsShare('a'), semaphore.holdsShare('b')]).toEqual([true, false])
})

test('a request that waits too long fails, and those behind it are served', async () => {
  const semaphore = new Semaphore({ units: 100, unitsOfOwner: 100 })
  request(semaphore, 60)
  const large = request(semaphore, 90, 'b', 20)
  const small = request(semaphore, 30, 'c')
  await expect(large.acquired).rejects.toThrow(NotAcquired)
  await settled()
  expect([small.isHeld, semaphore.waiting]).toEqual([true, 0])
})

test('a request whose signal is aborted leaves the queue, and those behind it are served', async () => {
  const semaphore = new Semaphore({ units: 100, unitsOfOwner: 100 })
  request(semaphore, 60)
  const gone = new AbortController()
  const large = request(semaphore, 90, 'b', long, gone.signal)
  const small = request(semaphore, 30, 'c')
  gone.abort(new Error('gone'))
  await expect(large.acquired).rejects.toThrow('gone')
  await settled()
  expect([small.isHeld, semaphore.waiting]).toEqual([true, 0])
})

test('units released twice are released once', async () => {
  const semaphore = new Semaphore({ units: 100, unitsOfOwner: 100 })
  const [first, second] = [request(semaphore, 60), request(semaphore, 40)]
  await settled()
  first.release()
  first.release()
  expect(semaphore.takenUnits).toBe(40)
  expect(second.isHeld).toBe(true)
})
