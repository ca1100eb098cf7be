import { defineConfig } from 'vitest/config'
import { BaseSequencer, type TestSpecification } from 'vitest/node'

const common = {
  /** Upper bounds that only end hung tests. */
  testTimeout: 400_000,
  hookTimeout: 300_000,
  /** What a test threw that couldn't see what it looks for (tests/support/standstill.ts). No other failure is tried again. */
  retry: { count: 3, condition: /^The machine stood still/ },
}
/** They take longest: begun late, they would run by themselves at the end, on an idle machine. */
const longest =
  /\/(faults\/(chaos|cluster|sentinel)|cluster\/dispatch|audit\/refused\.slow|processes\/benchmark)\.test\.ts$/
/** Its answers are timed. At the end, fewer others run. */
const timed = /\/faults\/503-unavailable\.test\.ts$/
const orderOf = ({ project, moduleId }: TestSpecification) => {
  // One of their files mostly waits, too.
  if (project.name === 'rules') return 0
  if (longest.test(moduleId)) return 1
  return timed.test(moduleId) ? 3 : 2
}
class InOrder extends BaseSequencer {
  override async sort(files: TestSpecification[]) {
    return (await super.sort(files)).toSorted((one, other) => orderOf(one) - orderOf(other))
  }
}
/** Files leave nothing behind in modules, and to load them anew for each would take half of the time. */
const inOneProcess = { isolate: false }
/** Most files wait more than they compute: four keep two cores busy, and more would make each other miss their times. */
const together = { maxWorkers: 4, sequence: { groupOrder: 0 } }
/** Most start processes, and compute about as much as they wait: three keep two cores busy. */
const inThrees = { maxWorkers: 3, sequence: { groupOrder: 1 } }
/** Most wait, for leases to lapse or servers to come back, and chaos runs its faults three at a time: more than four miss their times. */
const waiting = { maxWorkers: 4, sequence: { groupOrder: 2 } }
/** Whatever a test asks the API. */
const documented = { setupFiles: 'tests/support/answers-as-documented.ts' }
const stores = 'tests/support/global-setup.ts'
const withBuild = ['tests/support/build.ts', stores]
/** Pipelines whose file takes over 6 s on two cores. */
const slow = 'tests/**/*.slow.test.ts'
const faults = 'tests/system/faults/**'
const onCluster = 'tests/system/cluster/**'
/** They hold the machine's pace against the clock. */
const alone = 'tests/system/clock/*.test.ts'

/** The tiers. `npm test` runs the first two, `npm run test:system` the others. */
export default defineConfig({
  test: {
    // What was compiled for an earlier run, as long as its source is the same: a run of one file starts a second sooner.
    experimental: { fsModuleCache: true },
    sequence: { sequencer: InOrder },
    projects: [
      {
        test: {
          ...common,
          name: 'rules',
          include: ['tests/rules/**/*.test.ts'],
          ...inOneProcess,
          ...together,
        },
      },
      {
        test: {
          ...common,
          name: 'pipelines',
          ...documented,
          include: ['tests/**/*.test.ts'],
          exclude: ['tests/{rules,system}/**', slow],
          globalSetup: stores,
          ...inOneProcess,
          ...together,
        },
      },
      {
        test: {
          ...common,
          name: 'slow',
          ...documented,
          include: [slow],
          globalSetup: stores,
          ...inOneProcess,
          ...together,
        },
      },
      {
        test: {
          ...common,
          name: 'processes',
          ...documented,
          include: ['tests/system/**/*.test.ts'],
          exclude: [faults, onCluster, alone],
          globalSetup: withBuild,
          ...inOneProcess,
          ...inThrees,
        },
      },
      {
        test: {
          ...common,
          name: 'system',
          include: [`${faults}/*.test.ts`],
          globalSetup: withBuild,
          ...inOneProcess,
          ...waiting,
        },
      },
      {
        test: {
          ...common,
          name: 'cluster',
          include: [`${onCluster}/*.test.ts`],
          globalSetup: withBuild,
          env: { STORES: 'cluster' },
          ...inOneProcess,
          ...inThrees,
        },
      },
      {
        test: {
          ...common,
          name: 'alone',
          include: [alone],
          globalSetup: withBuild,
          maxWorkers: 1,
          sequence: { groupOrder: 3 },
        },
      },
    ],
  },
})
