import type { TestProject } from 'vitest/node'
import { type Binary, chromiumBinary } from '../../src/dev/embedded/chromium-binary.ts'

declare module 'vitest' {
  export interface ProvidedContext {
    chromium: Binary
  }
}

/** Gets the browser where it is missing, before a test waits for it. */
export default async function setup(project: TestProject): Promise<void> {
  project.provide('chromium', await chromiumBinary())
}
