import type { Costs } from '../costs/cost.ts'

/** What is assumed, in place of measured. */
export const assumed = {
  /** Of each core, so that a restart, a peak or a lost machine finds room. */
  busy: 0.5,
  /** Of a machine for processes or for Redis. */
  cores: 8,
  /** Of PostgreSQL's machine. */
  postgresCores: 32,
  /** That a primary writes and its standby receives: half of what a network of 2 Gbit/s carries. */
  walBytesPerSecond: 125e6,
  /** For PostgreSQL's tables. */
  diskBytes: 4e12,
  /** APIs and workers that PostgreSQL takes without a pooler, at ten connections each. */
  directProcesses: 30,
}

const secondsOfADay = 86_400
/** So that one may be restarted. */
const least = 2
/** A replica is on another machine than its master, and whoever decides on a failover needs a majority. */
const redisMachines = 3

/** 1: a Redis of its own. More: of a Cluster; more than 6 weren't measured. */
type Masters = 1 | 3 | 6

/** The whole service once, with as much of everything as it needs. */
export interface Cell {
  apis: number
  workers: number
  masters: Masters
  hasPooler: boolean
}

const smallest: Cell = { apis: least, workers: least, masters: 1, hasPooler: false }

/** A part of a cell that carries only so much. */
export interface Limit {
  what: string
  /** Sends a second. */
  carries: number
  remedy: string
  /** The cell with the remedy. Absent if nothing can be added to the cell. */
  grown?: Cell
}

/** The parts of a cell, the weakest first. */
export function limitsOf(cell: Cell, costs: Costs): [Limit, ...Limit[]] {
  const { apis, workers } = cell
  const limits: Limit[] = [
    {
      what: `${apis} APIs`,
      carries: coresCarry(costs.api, apis),
      remedy: 'more APIs',
      grown: { ...cell, apis: apis + 1 },
    },
    {
      what: `${workers} workers`,
      carries: coresCarry(costs.worker, workers),
      remedy: 'more workers',
      grown: { ...cell, workers: workers + 1 },
    },
    redisLimit(cell, costs),
    {
      what: `PostgreSQL's ${assumed.postgresCores} cores`,
      carries: coresCarry(costs.postgres + costs.trim, assumed.postgresCores),
      remedy: anotherCell,
    },
    {
      what: "PostgreSQL's log",
      carries: assumed.walBytesPerSecond / (costs.wal + costs.trimWal),
      remedy: anotherCell,
    },
  ]
  if (!cell.hasPooler)
    limits.push({
      what: `${assumed.directProcesses} processes' connections to PostgreSQL`,
      carries: assumed.directProcesses / (1 / coresCarry(costs.api) + 1 / coresCarry(costs.worker)),
      remedy: 'PgBouncer',
      grown: { ...cell, hasPooler: true },
    })
  const [weakest, ...others] = limits.sort((a, b) => a.carries - b.carries)
  return [weakest as Limit, ...others]
}

const anotherCell = 'another cell'

function redisLimit(cell: Cell, costs: Costs): Limit {
  const { masters } = cell
  const ofSend = { 1: costs.redis, 3: costs.redis3, 6: costs.redis6 }[masters]
  const carries = coresCarry(ofSend, masters)
  if (masters === 6) return { what: '6 masters', carries, remedy: anotherCell }
  const more = masters === 1 ? 3 : 6
  return {
    what: masters === 1 ? 'one Redis' : `${masters} masters`,
    carries,
    remedy: `a Cluster of ${more} masters`,
    grown: { ...cell, masters: more },
  }
}

/** @param micros of CPU that a send costs. */
const coresCarry = (micros: number, cores = 1) => (cores * assumed.busy * 1e6) / micros

interface Grown {
  cell: Cell
  /** What it had too little of on the way, in this order. */
  passed: Limit[]
  /** What breaks first under more load. */
  weakest: Limit
}

/** Lets the load on one cell rise, and adds to the cell whatever breaks first, until it carries the load or is full. */
export function grow(perSecond: number, costs: Costs): Grown {
  let cell = smallest
  for (const passed: Limit[] = []; ; ) {
    const [weakest] = limitsOf(cell, costs)
    if (weakest.carries >= perSecond || !weakest.grown) return { cell, passed, weakest }
    passed.push(weakest)
    cell = weakest.grown
  }
}

/** What a cell carries that nothing can be added to. */
export const cellCarries = (costs: Costs) => grow(Number.POSITIVE_INFINITY, costs).weakest.carries

export interface Plan {
  cells: number
  cell: Cell
  /** Of all cells, the stores' too. */
  machines: number
  /** Of PostgreSQL in each cell, like what follows. */
  postgresCores: number
  walMegabytes: number
  /** Days of such a load that PostgreSQL's disk holds. */
  days: number
  /** What breaks first under more load than this. */
  weakest: Limit
}

export function plan(perSecond: number, costs: Costs): Plan {
  const cells = Math.ceil(perSecond / cellCarries(costs))
  const ofEach = perSecond / cells
  const { cell, weakest } = grow(ofEach, costs)
  return {
    cells,
    cell,
    machines: cells * machinesOf(cell),
    postgresCores: Math.max(least, Math.ceil(ofEach / coresCarry(costs.postgres + costs.trim))),
    walMegabytes: (ofEach * (costs.wal + costs.trimWal)) / 1e6,
    days: assumed.diskBytes / (ofEach * costs.disk * secondsOfADay),
    weakest,
  }
}

/** With a standby for PostgreSQL and a replica for each master. */
function machinesOf({ apis, workers, masters }: Cell): number {
  const ofProcesses = Math.max(least, Math.ceil((apis + workers) / assumed.cores))
  const ofRedis = Math.max(redisMachines, Math.ceil((2 * masters) / assumed.cores))
  return ofProcesses + ofRedis + 2
}
