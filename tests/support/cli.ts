import type { Terminal } from '../../src/cli/answer.ts'
import { exitCodes } from '../../src/cli/exit-codes.ts'
import { runCli as run } from '../../src/cli/run.ts'
import { type TestService, testSecrets } from './service.ts'

export interface CliResult {
  status: number
  stdout: string
  stderr: string
}

/**
 * Runs the operator's command line with --json, in this process; what its own process adds is in tests/system/processes/cli.test.ts. The
 * stderr of a failure is its message. Warnings aren't in it: most tests give as an argument what others may see.
 */
export function runCli(service: Pick<TestService, 'stores'>, ...args: string[]): Promise<CliResult> {
  return runCliWith(service, {}, ...args)
}

/** @param settings by their names in the environment, over those of the tests. */
export function runCliWith(
  service: Pick<TestService, 'stores'>,
  settings: Record<string, string>,
  ...args: string[]
): Promise<CliResult> {
  return inWords(startCli(service, settings, ...args, '--json'))
}

/** Runs it with a text on stdin. */
export function runCliWithSecret(
  service: Pick<TestService, 'stores'>,
  secret: string,
  ...args: string[]
): Promise<CliResult> {
  return runCliGiven(service, { readSecret: () => Promise.resolve(secret) }, ...args)
}

/** Runs it with settings and with a text on stdin. */
export function runCliGiven(
  service: Pick<TestService, 'stores'>,
  given: Given,
  ...args: string[]
): Promise<CliResult> {
  return inWords(start(service, given, ...args, '--json'))
}

async function inWords({ ended }: RunningCli): Promise<CliResult> {
  const result = await ended
  if (result.status === exitCodes.done || result.status === exitCodes.differs) return result
  return { ...result, stderr: `${JSON.parse(result.stderr).error.message}\n` }
}

/** A command under way, whose output can be read meanwhile. */
export interface RunningCli {
  output: CliResult
  ended: Promise<CliResult>
}

/** As it is given: for reading, unless the arguments say otherwise. */
export function startCli(
  service: Pick<TestService, 'stores'>,
  settings: Record<string, string>,
  ...args: string[]
): RunningCli {
  return start(service, { settings }, ...args)
}

interface Given extends Pick<Terminal, 'readSecret' | 'printWarning'> {
  settings?: Record<string, string>
}

function start(
  service: Pick<TestService, 'stores'>,
  { settings, printWarning = () => {}, ...secret }: Given,
  ...args: string[]
): RunningCli {
  const output = { status: Number.NaN, stdout: '', stderr: '' }
  const terminal: Terminal = {
    ...secret,
    printWarning,
    environment: { ...testSecrets, DATABASE_URL: service.stores.databaseUrl, ...settings },
    print: (line: string) => {
      output.stdout += `${line}\n`
    },
    printError: (line: string) => {
      output.stderr += `${line}\n`
    },
  }
  const ended = run(args, terminal).then((status) => ({ ...output, status }))
  return { output, ended }
}
