import { cp, mkdir, mkdtemp, readdir, rm, symlink } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { onTestFinished } from 'vitest'

export const checkout = join(import.meta.dirname, '../..')

/** A checkout with the build of the tests in place of that of `npm run build`. */
export async function builtCheckout(): Promise<string> {
  const path = await mkdtemp(join(tmpdir(), 'built-checkout-'))
  await symlink(String(process.env.SERVICE_BUILD), join(path, 'dist'))
  for (const name of ['node_modules', 'package.json']) await symlink(join(checkout, name), join(path, name))
  return path
}

/** A checkout of its own, to run dev in: this one's may be in use by somebody who works on it. */
export async function aCheckout(): Promise<string> {
  const path = await mkdtemp(join(tmpdir(), 'dev-checkout-'))
  onTestFinished(() => rm(path, { recursive: true, force: true, maxRetries: 5 }))
  for (const part of ['src', 'db', 'workers', 'package.json', 'tsconfig.json'])
    await cp(join(checkout, part), join(path, part), { recursive: true })
  // Apart from its cache, where a running dev is announced.
  await mkdir(join(path, 'node_modules'))
  for (const name of await readdir(join(checkout, 'node_modules')))
    if (name !== '.cache')
      await symlink(join(checkout, 'node_modules', name), join(path, 'node_modules', name))
  return path
}
