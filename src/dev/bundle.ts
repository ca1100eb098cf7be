import { existsSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'
import { type Plugin, rolldown } from 'rolldown'

/** Files of a build, without their endings: processes, and the thread of large bodies. */
export const programs = [
  ...['src/server', 'workers/main', 'src/admin/main', 'src/migrate', 'src/cli/main'],
  'src/api/body/large/parser-thread',
]

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

async function bundleProgram(file: string): Promise<void> {
  const program = await rolldown({
    input: file,
    platform: 'node',
    // A build has what it renders: it is never loaded, and neither are the packages that it needs.
    external: [/\/render-site\.js$/],
    plugins: [besideItself(dirname(file))],
    logLevel: 'warn',
  })
  await program.write({ file, format: 'esm', codeSplitting: false })
  await program.close()
}

/** A module finds files beside itself, also within the file of a program. */
const besideItself = (folderOfProgram: string): Plugin => ({
  name: 'beside-itself',
  transform(source, path) {
    // Neither libraries nor the bundler's own modules, whose names are no paths.
    if (path.includes('/node_modules/') || path.startsWith('\0')) return undefined
    if (!source.includes('import.meta.url')) return undefined
    const own = JSON.stringify(relative(folderOfProgram, path))
    return source.replaceAll('import.meta.url', `new URL(${own}, import.meta.url).href`)
  },
})
