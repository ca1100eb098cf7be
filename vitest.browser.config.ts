import { defineConfig } from 'vitest/config'

/** The pages, driven in a browser. */
export default defineConfig({
  test: {
    include: ['tests/**/*.browser.ts'],
    globalSetup: ['tests/support/global-setup.ts', 'tests/support/browser-setup.ts'],
    fileParallelism: false,
    testTimeout: 60_000,
    hookTimeout: 90_000,
  },
})
