import { execFile } from 'node:child_process'
import { mkdir, mkdtemp, readdir, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'

const run = promisify(execFile)
const packages = ['redis-server', 'valkey-server']

/**
 * Unpacks Debian's (or Ubuntu's) Redis and the libraries that the machine lacks into `folder`. Nothing is installed
 * and no root is needed: apt works with lists and a cache of its own.
 */
export async function unpackDebianRedis(folder: string): Promise<void> {
  const work = await mkdtemp(join(tmpdir(), 'debian-redis-'))
  try {
    const archives = await download(work)
    for (const archive of archives) await run('dpkg-deb', ['-x', archive, folder])
  } finally {
    await rm(work, { recursive: true, force: true })
  }
}

async function download(work: string): Promise<string[]> {
  await mkdir(join(work, 'lists/partial'), { recursive: true })
  await mkdir(join(work, 'cache/archives/partial'), { recursive: true })
  const config = join(work, 'apt.conf')
  await writeFile(config, aptConfig(work))
  const apt = (...args: string[]) =>
    run('apt-get', ['-c', config, '-q', '-y', ...args], {
      env: { ...process.env, LC_ALL: 'C' },
      timeout: 120_000,
    })

  // A source that can't be reached may not be the one we need: let the download decide.
  await apt('update').catch(() => {})
  const refusals: unknown[] = []
  for (const name of packages) {
    try {
      await apt('install', '--no-install-recommends', '--download-only', name)
    } catch (error) {
      refusals.push(error)
      continue
    }
    const files = await readdir(join(work, 'cache/archives'))
    return files.filter((file) => file.endsWith('.deb')).map((file) => join(work, 'cache/archives', file))
  }
  throw refusals[0]
}

/** The cleared hooks are the machine's own: as root they would clean its real cache and call its services. */
function aptConfig(work: string): string {
  return `
Dir::State::lists "${work}/lists";
Dir::Cache "${work}/cache";
Dir::Log "${work}";
APT::Sandbox::User "";
Debug::NoLocking "1";
Acquire::Languages "none";
#clear APT::Update::Pre-Invoke;
#clear APT::Update::Post-Invoke;
#clear APT::Update::Post-Invoke-Success;
`
}
