import { execFileSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { chmod, cp, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { renderSite } from '../api/docs/render-site.ts'
import { builtSite } from '../api/docs/site.ts'
import { buildFile } from '../platform/process/build.ts'
import { environmentVariables } from '../platform/settings/environment.ts'
import { bundle } from './bundle.ts'

const root = fileURLToPath(new URL('../..', import.meta.url))
const copied = [
  'db/migrations',
  'src/providers/vendors',
  'src/admin/page/admin.css',
  'src/admin/page/console.js',
  ...['pages.css', 'inter.woff2', 'mark.svg'].map((name) => `src/platform/http/${name}`),
  ...['docs.css', 'docs.js'].map((name) => `src/api/docs/${name}`),
]

/** Adds to a build what the compiler leaves out: files that are served or read, the guides as HTML, the commit, each program in one file, and the right to run the CLI. */
export async function finishBuild(folder: string): Promise<void> {
  const build = join(root, folder)
  for (const path of copied) await cp(join(root, path), join(build, path), { recursive: true })
  await writeFile(join(build, 'src/api/docs', builtSite), JSON.stringify(renderSite()))
  await writeFile(join(build, buildFile), JSON.stringify({ commit: commit() }))
  await bundle(build)
  await chmod(join(build, 'src/cli/main.js'), 0o755)
}

/** The commit of the sources: REVISION, which the image's build is given, or git's. Undefined without both, and in a copy within another checkout. */
function commit(): string | undefined {
  const { REVISION } = environmentVariables
  if (REVISION && REVISION !== 'unknown') return REVISION
  if (!existsSync(join(root, '.git'))) return undefined
  try {
    return execFileSync('git', ['rev-parse', 'HEAD'], { cwd: root, encoding: 'utf8', stdio: 'pipe' }).trim()
  } catch {
    return undefined
  }
}

if (process.argv[1] === fileURLToPath(import.meta.url)) await finishBuild('dist')
