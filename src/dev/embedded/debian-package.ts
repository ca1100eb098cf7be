import { execFile } from 'node:child_process'
import { mkdir, mkdtemp, readdir, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'

const run = promisify(execFile)

export interface DebianPackage {
  /**
   * Alternatives, in the order to try. Each is a package and further packages whose files it expects beside its own; they are
   * named because apt wouldn't download those already installed.
   */
  choices: readonly (readonly string[])[]
  /** Whether to download all its missing dependencies, for the libraries that this machine lacks. */
  withDependencies: boolean
  /** Another release than the machine's, from the same mirror. The package then needs that release's libraries. */
  release?: string
}

/**
 * Unpacks a package of Debian (or Ubuntu) into `folder`. It installs nothing and needs no root, because apt gets its own lists
 * and cache.
 */
export async function unpackDebianPackage(wanted: DebianPackage, folder: string): Promise<void> {
  const work = await mkdtemp(join(tmpdir(), 'debian-package-'))
  try {
    const archives = await download(wanted, work)
    for (const archive of archives) await run('dpkg-deb', ['-x', archive, folder])
  } finally {
    await rm(work, { recursive: true, force: true })
  }
}

async function download(
  { choices, withDependencies, release }: DebianPackage,
  work: string,
): Promise<string[]> {
  await mkdir(join(work, 'lists/partial'), { recursive: true })
  const archives = join(work, 'cache/archives')
  await mkdir(join(archives, 'partial'), { recursive: true })
  const config = join(work, 'apt.conf')
  await writeFile(config, aptConfig(work) + (release === undefined ? '' : await otherRelease(release, work)))
  const apt = (...args: string[]) =>
    run('apt-get', ['-c', config, '-q', '-y', ...args], {
      cwd: archives,
      env: { ...process.env, LC_ALL: 'C' },
      timeout: 300_000,
    })
  // `--reinstall`: the package may be installed although its program was not found on PATH.
  const install = ['install', '--reinstall', '--no-install-recommends', '--download-only']
  const fetch = withDependencies ? install : ['download']

  // A source that fails may not be the one needed, so this error is ignored: the download fails if it is.
  await apt('update').catch(() => {})
  const refusals: unknown[] = []
  for (const packages of choices) {
    try {
      await apt(...fetch, ...packages)
    } catch (error) {
      refusals.push(error)
      continue
    }
    const files = await readdir(archives)
    return files.filter((file) => file.endsWith('.deb')).map((file) => join(archives, file))
  }
  throw refusals[0]
}

/** Clears the machine's own hooks, which as root would clean its real cache and call its services. */
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

async function otherRelease(release: string, work: string): Promise<string> {
  const { stdout } = await run('apt-get', ['indextargets', '--format', '$(REPO_URI) $(RELEASE)'])
  const mirror = stdout
    .split('\n')
    .find((line) => /^\S+ [a-z]+$/.test(line))
    ?.split(' ')[0]
  if (mirror === undefined) throw new Error(`apt knows no mirror to fetch ${release} from`)
  const keys = '/usr/share/keyrings/debian-archive-keyring.gpg'
  await writeFile(join(work, 'sources.list'), `deb [signed-by=${keys}] ${mirror} ${release} main\n`)
  await writeFile(join(work, 'status'), '')
  return `
Dir::State::status "${work}/status";
Dir::Etc::SourceList "${work}/sources.list";
Dir::Etc::SourceParts "/dev/null";
`
}
