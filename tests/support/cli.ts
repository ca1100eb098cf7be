import { execFile } from 'node:child_process'
import { inject } from 'vitest'
import { type TestService, testSecrets } from './service.ts'

export interface CliResult {
  status: number
  stdout: string
  stderr: string
}

/** Runs the operator's command line in a process of its own, while the workers of this one go on. */
export function runCli(service: Pick<TestService, 'stores'>, ...args: string[]): Promise<CliResult> {
  return runCliWith(service, {}, ...args)
}

/** @param settings by their names in the environment, over those of the tests. */
export function runCliWith(
  service: Pick<TestService, 'stores'>,
  settings: Record<string, string>,
  ...args: string[]
): Promise<CliResult> {
  const command = [inject('cliProgram'), ...args, '--json']
  const env = { ...process.env, ...testSecrets, DATABASE_URL: service.stores.databaseUrl, ...settings }
  return new Promise((resolve) => {
    const child = execFile(process.execPath, command, { env }, (_error, stdout, stderr) =>
      resolve({ status: child.exitCode ?? -1, stdout, stderr }),
    )
  })
}
