import { defineConfig } from 'vitest/config'

const common = {
  globalSetup: 'tests/support/global-setup.ts',
  /** No promises, but the ends of what hangs: far beyond what a busy machine takes. */
  testTimeout: 90_000,
  hookTimeout: 120_000,
  /** What a test threw that couldn't see what it looks for (tests/support/standstill.ts). No other failure is tried again. */
  retry: { count: 3, condition: /^The machine stood still/ },
}

/** They load or strike whole processes, and hold answers against the clock: one after the other. */
const alone = [
  'api/{401,429,503}-*',
  'api/*connections',
  'api/idempotency-*',
  'hostile/**/*',
  'e2e/{four,health,moved,production,ten,without}*',
  'chaos/**/*',
  'workers/{rates,fairness,max-in-flight}',
].map((files) => `tests/${files}.test.ts`)

export default defineConfig({
  test: {
    projects: [
      {
        test: {
          ...common,
          name: 'beside',
          include: ['tests/**/*.test.ts'],
          exclude: alone,
          maxWorkers: 3,
          sequence: { groupOrder: 0 },
        },
      },
      { test: { ...common, name: 'alone', include: alone, maxWorkers: 1, sequence: { groupOrder: 1 } } },
    ],
  },
})
