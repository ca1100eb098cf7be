import { test } from 'vitest'
import { expectCovered, newCoverage } from './coverage.ts'
import { runRound } from './round.ts'

const seed = Number(process.env.HOSTILE_SEED ?? 1)

test(`no answer to 10,000 hostile requests breaks a law of docs/reference/api.md: seed ${seed}`, async () => {
  const coverage = newCoverage()
  await runRound(seed, 10_000, coverage)
  expectCovered(coverage)
})
