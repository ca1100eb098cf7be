import { existsSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { dirname, join, relative } from 'node:path'
import { build, type Plugin } from 'esbuild'

/** Of a build, without their endings: processes, and the thread of large bodies. */
export const programs = [
  ...['src/server', 'workers/main', 'src/admin/main', 'src/migrate', 'src/cli/main'],
  'src/api/body/large/parser-thread',
]

/** For CommonJS within a module. */
const requireOfModule = `import { createRequire } from 'node:module'; const require = createRequire(import.meta.url);`

/**
 * Puts all that a program imports into its file: Node.js takes a second to find and load over a thousand modules, and a third of
 * that for one.
 *
 * @param folder of what the compiler wrote, absolute. A build may lack programs.
 */
export async function bundle(folder: string): Promise<void> {
  const files = programs.map((program) => join(folder, `${program}.js`)).filter(existsSync)
  await Promise.all(files.map(bundleProgram))
}

const bundleProgram = (file: string) =>
  build({
    entryPoints: [file],
    outfile: file,
    allowOverwrite: true,
    bundle: true,
    platform: 'node',
    target: 'node20.19',
    format: 'esm',
    banner: { js: requireOfModule },
    sourcemap: true,
    sourcesContent: false,
    plugins: [besideItself(dirname(file))],
    logLevel: 'error',
  })

/** A module finds files beside itself, also within the file of a program. */
const besideItself = (folderOfProgram: string): Plugin => ({
  name: 'beside-itself',
  setup({ onLoad }) {
    onLoad({ filter: /\.js$/ }, async ({ path }) => {
      if (path.includes('/node_modules/')) return undefined
      const source = await readFile(path, 'utf8')
      const own = JSON.stringify(relative(folderOfProgram, path))
      return { contents: source.replaceAll('import.meta.url', `new URL(${own}, import.meta.url).href`) }
    })
  },
})
