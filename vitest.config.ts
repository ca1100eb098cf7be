import { defineConfig } from 'vitest/config'
import { BaseSequencer, type TestSpecification } from 'vitest/node'

const common = {
  /** No promises, but the ends of what hangs: far beyond what a busy machine takes. */
  testTimeout: 90_000,
  hookTimeout: 120_000,
  /** What a test threw that couldn't see what it looks for (tests/support/standstill.ts). No other failure is tried again. */
  retry: { count: 3, condition: /^The machine stood still/ },
}
/** Rules first: one of their files mostly waits, and with nothing beside it at the end the machine would wait, too. */
class RulesFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]) {
    const sorted = await super.sort(files)
    const isRule = ({ project }: TestSpecification) => project.name === 'rules'
    return [...sorted.filter(isRule), ...sorted.filter((file) => !isRule(file))]
  }
}
/** Files leave nothing behind in modules, and to load them anew for each would take half of the time. */
const inOneProcess = { isolate: false }
/** Most files wait more than they compute: four keep two cores busy, and more would make each other miss their times. */
const together = { maxWorkers: 4, sequence: { groupOrder: 0 } }
const stores = 'tests/support/global-setup.ts'
const withBuild = ['tests/support/build.ts', stores]
const inTurns = 'tests/system/{faults,clock}/**'
const onCluster = 'tests/system/cluster/**'

/** Five tiers, by directory. `npm test` runs the first two, `npm run test:system` the others. */
export default defineConfig({
  test: {
    // What was compiled for an earlier run, as long as its source is the same: a run of one file starts a second sooner.
    experimental: { fsModuleCache: true },
    sequence: { sequencer: RulesFirst },
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
          include: ['tests/**/*.test.ts'],
          exclude: ['tests/{rules,system}/**'],
          globalSetup: stores,
          ...inOneProcess,
          ...together,
        },
      },
      {
        test: {
          ...common,
          name: 'processes',
          include: ['tests/system/**/*.test.ts'],
          exclude: [inTurns, onCluster],
          globalSetup: withBuild,
          // Each starts several processes, and waits for them: two keep two cores busy.
          maxWorkers: 2,
          sequence: { groupOrder: 1 },
        },
      },
      {
        test: {
          ...common,
          name: 'system',
          include: [`${inTurns}/*.test.ts`],
          globalSetup: withBuild,
          // They strike processes under load, and hold answers against the clock: one after the other.
          maxWorkers: 1,
          sequence: { groupOrder: 2 },
        },
      },
      {
        test: {
          ...common,
          name: 'cluster',
          include: [`${onCluster}/*.test.ts`],
          globalSetup: withBuild,
          env: { STORES: 'cluster' },
          ...together,
          sequence: { groupOrder: 3 },
        },
      },
    ],
  },
})
