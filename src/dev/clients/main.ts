import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { runProcess } from '../../platform/process/process.ts'
import { generatedFiles } from './generated-files.ts'

const root = fileURLToPath(new URL('../../..', import.meta.url))

/** Writes what the clients of sdk have from the OpenAPI document; with `--check`, fails if it isn't what is there. */
await runProcess(async () => {
  const { values } = parseArgs({ options: { check: { type: 'boolean' } } })
  const stale: string[] = []
  for (const [file, text] of Object.entries(await generatedFiles())) {
    const path = join(root, file)
    if (!values.check) await writeFile(path, text)
    else if ((await readFile(path, 'utf8').catch(() => '')) !== text) stale.push(file)
  }
  if (stale.length === 0) return
  process.stderr.write(`Not as the OpenAPI document has it: ${stale.join(', ')}. Run \`npm run clients\`.\n`)
  process.exitCode = 1
})
