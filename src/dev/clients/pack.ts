import { execFileSync } from 'node:child_process'
import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { runProcess } from '../../platform/process/process.ts'
import { packTypescript } from './pack-typescript.ts'

const root = fileURLToPath(new URL('../../..', import.meta.url))

/** Makes the packages of both clients, as a release has them. Nothing is published. */
await runProcess(async () => {
  const folder = join(root, 'dist/clients')
  await mkdir(folder, { recursive: true })
  const wheel = execFileSync('python3', ['sdk/python/build_backend.py', folder], {
    cwd: root,
    encoding: 'utf8',
  })
  process.stdout.write(`${await packTypescript(folder)}\n${join(folder, wheel.trim())}\n`)
})
