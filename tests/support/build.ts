import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { finishBuild } from '../../src/dev/finish-build.ts'

const projectRoot = fileURLToPath(new URL('../..', import.meta.url))
/** Not that of `npm run build`, which tests run, too. */
const folder = 'dist/tests'

/**
 * Builds the service as `npm run build` does. From now on, this process and those that it forks start the service from the build,
 * as in production: from the source it takes twice as long.
 */
export default async function buildService(): Promise<void> {
  if (process.env.SERVICE_BUILD !== undefined) return
  const build = join(projectRoot, folder)
  process.env.SERVICE_BUILD = build
  const tsc = join(projectRoot, 'node_modules/.bin/tsc')
  // The types are checked by `npm run check`.
  const options = ['-p', 'tsconfig.build.json', '--noCheck', '--outDir', folder]
  await promisify(execFile)(tsc, options, { cwd: projectRoot })
  await finishBuild(folder)
}
