import { link, readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { startedAt } from './process-identity.ts'

/**
 * Claims a server's folder for this process. Without a claim, a second `npm run dev` would take the first one's server for an
 * orphan and stop it. The claim of a process that has ended doesn't count.
 *
 * @returns a function that gives up the claim.
 */
export async function claimFolder(folder: string): Promise<() => Promise<void>> {
  const claim = join(folder, 'owner')
  for (;;) {
    if (await writeOnce(claim, `${process.pid} ${startedAt(process.pid)}`))
      return () => rm(claim, { force: true })
    const pid = await owner(folder)
    if (pid !== undefined) {
      throw new Error(
        `${folder} is in use by process ${pid}: stop that process first, or start under another name.`,
      )
    }
    await rm(claim, { force: true })
  }
}

/** The process that holds the claim on `folder`; undefined if none does, or it has ended. */
export async function owner(folder: string): Promise<number | undefined> {
  const claim = await readFile(join(folder, 'owner'), 'utf8').catch(() => '')
  const [pid, ...started] = claim.split(' ')
  return pid && startedAt(Number(pid)) === started.join(' ') ? Number(pid) : undefined
}

/** Writes a file unless it exists. The file is linked into place, so that it is never read half written. */
async function writeOnce(file: string, content: string): Promise<boolean> {
  const draft = `${file}.${process.pid}`
  await writeFile(draft, content)
  try {
    await link(draft, file)
    return true
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false
    throw error
  } finally {
    await rm(draft, { force: true })
  }
}
