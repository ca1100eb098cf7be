import { defineConfig } from 'vitest/config'

/** The pages, driven in a browser. */
export default defineConfig({
  test: {
    include: ['tests/**/*.browser.ts'],
    globalSetup: ['tests/support/global-setup.ts', 'tests/support/browser-setup.ts'],
    maxWorkers: 2,
    /** Upper bounds that only end hung tests. */
    testTimeout: 400_000,
    hookTimeout: 300_000,
  },
})
