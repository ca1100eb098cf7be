import { execFile } from 'node:child_process'
import { mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { rolldown } from 'rolldown'

const run = promisify(execFile)
const root = fileURLToPath(new URL('../../..', import.meta.url))
const source = join(root, 'sdk/typescript')
const built = join(source, 'dist')

/**
 * Builds the TypeScript client, as ES module and as CommonJS, each with its declarations, and packs it as npm would publish it.
 *
 * @returns the path of the package.
 */
export async function packTypescript(folder: string): Promise<string> {
  await rm(built, { recursive: true, force: true })
  await run(
    'node_modules/.bin/tsc',
    ['-p', source, '--noEmit', 'false', '--emitDeclarationOnly', '--outDir', built],
    {
      cwd: root,
    },
  )
  await bundle('esm', join(built, 'index.js'))
  await bundle('cjs', join(built, 'cjs/index.js'))
  await declareCommonJs()
  await mkdir(folder, { recursive: true })
  const { stdout } = await run('npm', ['pack', source, '--pack-destination', folder, '--silent'], {
    cwd: root,
  })
  return join(folder, stdout.trim())
}

async function bundle(format: 'esm' | 'cjs', file: string): Promise<void> {
  const client = await rolldown({
    input: join(source, 'src/index.ts'),
    platform: 'neutral',
    logLevel: 'warn',
  })
  await client.write({ file, format, comments: { legal: true, annotation: true, jsdoc: false } })
  await client.close()
}

/** A declaration beside a package.json without `type: module` describes CommonJS. */
async function declareCommonJs(): Promise<void> {
  const names = await readdir(built, { recursive: true })
  for (const name of names.filter((name) => name.endsWith('.d.ts'))) {
    const file = join(built, name)
    // The compiler leaves `./client.ts` in declarations, which a package doesn't have.
    const text = (await readFile(file, 'utf8')).replaceAll(/(from '\.[^']+)\.ts'/g, "$1.js'")
    await writeFile(file, text)
    await mkdir(join(built, 'cjs', name, '..'), { recursive: true })
    await writeFile(join(built, 'cjs', name), text)
  }
  await writeFile(join(built, 'cjs/package.json'), '{ "type": "commonjs" }\n')
}
