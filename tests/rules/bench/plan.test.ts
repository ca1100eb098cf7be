import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import type { Costs } from '../../bench/costs/cost.ts'
import { planAsText, readCosts } from '../../bench/plan/index.ts'
import { assumed, cellCarries, grow, limitsOf, plan } from '../../bench/plan/model.ts'

/** Made up. */
const costs: Costs = {
  api: 200,
  worker: 250,
  postgres: 180,
  redis: 100,
  redis3: 140,
  redis6: 160,
  wal: 2000,
  disk: 1000,
  trim: 20,
  trimWal: 500,
}
const rates = [1000, 10_000, 100_000]

test('a small load needs two of each, one Redis and one cell', () => {
  const { cells, cell, machines, postgresCores, walMegabytes } = plan(1000, costs)
  expect({ cells, cell, machines, postgresCores, walMegabytes }).toEqual({
    cells: 1,
    cell: { apis: 2, workers: 2, masters: 1, hasPooler: false },
    // Two for processes, two for PostgreSQL, three for Redis.
    machines: 7,
    postgresCores: 2,
    walMegabytes: 2.5,
  })
})

test('a larger load needs as many as use half of a core each', () => {
  const { cells, cell, postgresCores } = plan(10_000, costs)
  expect({ cells, cell, postgresCores }).toEqual({
    cells: 1,
    cell: { apis: 4, workers: 5, masters: 3, hasPooler: false },
    postgresCores: 4,
  })
})

test('a load beyond what a cell carries is divided into as few cells as carry it', () => {
  const { cells, cell, machines } = plan(100_000, costs)
  expect(cells).toBe(6)
  expect(100_000 / cells).toBeLessThanOrEqual(cellCarries(costs))
  expect(100_000 / (cells - 1)).toBeGreaterThan(cellCarries(costs))
  expect(cell).toEqual({ apis: 7, workers: 9, masters: 6, hasPooler: false })
  expect(machines).toBe(6 * 7)
})

test.each(rates)('at %i/s nothing has broken, and what breaks first is the weakest part', (rate) => {
  const { cells, cell, weakest } = plan(rate, costs)
  const all = limitsOf(cell, costs).map(({ carries }) => carries)
  expect(weakest.carries).toBe(Math.min(...all))
  expect(cells * weakest.carries).toBeGreaterThanOrEqual(rate)
})

test.each<[string, Partial<Costs>]>([
  ['APIs', { api: 1000 }],
  ['workers', { worker: 1000 }],
  ['one Redis', { redis: 500 }],
  ["PostgreSQL's 32 cores", { postgres: 20_000 }],
  ["PostgreSQL's log", { wal: 500_000 }],
])('%s break first if a send costs much there', (what, dear) => {
  expect(grow(0, { ...costs, ...dear }).weakest.what).toContain(what)
})

test('the removal of a send counts like its delivery', () => {
  const carries = (more: Partial<Costs>) =>
    limitsOf(grow(0, costs).cell, { ...costs, ...more })
      .filter(({ what }) => what.startsWith("PostgreSQL's"))
      .map((limit) => Math.round(limit.carries))
  expect(carries({ postgres: 200, trim: 0 })).toEqual(carries({}))
  expect(carries({ wal: 2500, trimWal: 0 })).toEqual(carries({}))
  expect(carries({ trim: 220, trimWal: 3000 })).toEqual(carries({}).map((each) => Math.round(each / 2)))
})

test('a growing cell gets a larger Cluster before there is another cell, and PgBouncer for many processes', () => {
  const { passed, weakest } = grow(Number.POSITIVE_INFINITY, { ...costs, worker: 1500 })
  const remedies = passed.map(({ remedy }) => remedy)
  expect([...new Set(remedies)]).toEqual([
    'more workers',
    'more APIs',
    'a Cluster of 3 masters',
    'PgBouncer',
    'a Cluster of 6 masters',
  ])
  expect(weakest).toMatchObject({ what: '6 masters', carries: 18_750, remedy: 'another cell' })
  const loads = passed.map(({ carries }) => carries)
  expect(loads).toEqual(loads.toSorted((a, b) => a - b))
})

test('twice the cost of a send in Redis halves what Redis carries, and nothing else', () => {
  const { cell } = plan(10_000, costs)
  const dearer = new Map(
    limitsOf(cell, { ...costs, redis3: 2 * costs.redis3 }).map(({ what, carries }) => [what, carries]),
  )
  for (const { what, carries } of limitsOf(cell, costs))
    expect(dearer.get(what), what).toBeCloseTo(what === '3 masters' ? carries / 2 : carries)
})

test('the disk holds so many days of the load of one cell', () => {
  expect(plan(1000, costs).days).toBeCloseTo(assumed.diskBytes / (1000 * costs.disk * 86_400))
  expect(plan(100_000, costs).days).toBeCloseTo(plan(100_000 / 6, costs).days)
})

test('the text has the costs, a row for each load, and each remedy once', () => {
  const tables = planAsText(costs, rates)
    .split('\n\n')
    .filter((part) => part.startsWith('|'))
    .map((table) => table.split('\n').slice(2))
  expect(tables).toEqual([
    ['| 200 µs | 250 µs | 180 µs | 100 µs | 140 µs | 160 µs | 2,000 B | 1,000 B | 20 µs | 500 B |'],
    [
      '| 1,000 | 1 | 7 | 2 | 2 | one | 2 cores | 2.5 MB/s | 46.3 | 2 workers, at 4,000/s |',
      '| 10,000 | 1 | 7 | 4 | 5 | Cluster of 3 | 4 cores | 25 MB/s | 4.6 | 4 APIs, at 10,000/s |',
      '| 100,000 | 6 | 42 | 7 | 9 | Cluster of 6 | 7 cores | 41.7 MB/s | 2.8 | 7 APIs, at 105,000/s |',
    ],
    [
      '| 2 workers | 4,000/s | more workers |',
      '| 2 APIs | 5,000/s | more APIs |',
      '| one Redis | 5,000/s | a Cluster of 3 masters |',
      '| 3 masters | 10,714/s | a Cluster of 6 masters |',
      '| 6 masters | 18,750/s | another cell |',
    ],
  ])
})

test('the medians of a measurement are read, and one without a cost is refused by its name', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'plan-'))
  onTestFinished(() => rm(folder, { recursive: true }))
  const write = async (name: string, values: Record<string, number[]>) => {
    const figures = Object.entries(values).map(([variant, each]) => ({ variant, unit: '', values: each }))
    const file = join(folder, name)
    await writeFile(file, JSON.stringify({ findings: [{ conditions: '', results: [{ figures }] }] }))
    return file
  }
  const measured = Object.fromEntries(
    Object.entries(costs).map(([name, cost]) => [name, [cost * 3, cost, cost / 2]]),
  )
  expect(await readCosts(await write('whole', measured))).toEqual(costs)
  await expect(readCosts(await write('part', { ...measured, redis6: [], wal: [0] }))).rejects.toThrow(
    'has no cost of redis6, wal',
  )
})
