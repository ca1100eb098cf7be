import { defineConfig } from 'vitest/config'

/** The long forms of tests. They start what they need themselves, and have the machine for themselves. */
export default defineConfig({
  test: { include: ['tests/**/*.long.ts'], fileParallelism: false },
})
