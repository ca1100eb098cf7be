import { test } from 'vitest'
import { expectCovered, newCoverage } from './coverage.ts'
import { runRound } from './round.ts'

const rounds = 100
const requestsPerRound = 10_000
const firstSeed = Number(process.env.HOSTILE_SEED ?? 1)

/** Every round has a service of its own, so that what it holds stays small. */
test(`no answer to ${rounds * requestsPerRound} hostile requests breaks a law: seeds ${firstSeed} and on`, {
  timeout: 6 * 3_600_000,
}, async () => {
  const coverage = newCoverage()
  for (let round = 0; round < rounds; round++) {
    const startedAt = performance.now()
    const seed = firstSeed + round
    await runRound(seed, requestsPerRound, coverage)
    const statuses = [...coverage.statuses].sort(([a], [b]) => a - b).map(([status, n]) => `${status}: ${n}`)
    const seconds = ((performance.now() - startedAt) / 1000).toFixed(1)
    console.log(`seed ${seed}, round ${round + 1} of ${rounds}, ${seconds} s, so far ${statuses.join(', ')}`)
  }
  expectCovered(coverage)
})
