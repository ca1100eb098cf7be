import { defineConfig } from 'vitest/config'

/** The long forms of tests. They have the machine for themselves. */
export default defineConfig({
  test: {
    include: ['tests/**/*.long.ts'],
    globalSetup: ['tests/support/build.ts', 'tests/support/global-setup.ts'],
    fileParallelism: false,
  },
})
