import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { debianBinary } from '../../src/dev/embedded/debian-binary.ts'

const run = promisify(execFile)

/** Runs a script as an operator does, by psql. @throws an error with what it printed on stderr. */
export async function runScript(
  url: string,
  script: string,
  variables: Record<string, string>,
): Promise<void> {
  const { file, env } = await debianBinary({
    what: 'psql',
    names: ['psql'],
    path: 'usr/lib/postgresql/15/bin/psql',
    package: { choices: [['postgresql-client-15', 'libpq5']], withDependencies: true },
    versionOutput: /^psql /,
    advice: 'put it on PATH, e.g. with `apt-get install postgresql-client`.',
  })
  const given = Object.entries(variables).flatMap(([name, value]) => ['-v', `${name}=${value}`])
  await run(file, [url, '--no-psqlrc', ...given, '-f', script], { env: { ...process.env, ...env } })
}
