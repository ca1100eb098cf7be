#!/usr/bin/env node
import { guardStderr } from '../platform/log/print-error.ts'
import { environmentVariables } from '../platform/settings/environment.ts'
import { exitCodes } from './exit-codes.ts'
import { Output } from './output.ts'
import { runCli } from './run.ts'

// Libraries' warnings are for developers. stderr is for the one line that tells an operator what to do.
process.removeAllListeners('warning')

const output = new Output(process.stdout)
guardStderr()
/** Waits for a slow reader, unlike a service: the line is the answer. */
const printError = (line: string) => void process.stderr.write(`${line}\n`)

process.exitCode = await runCli(process.argv.slice(2), {
  environment: environmentVariables,
  print: output.print,
  printProgress: output.printProgress,
  printError,
  readSecret: async (name) => {
    const { readSecret } = await import('./read-secret.ts')
    return await readSecret(process.stdin, (question) => process.stderr.write(question), name)
  },
})
const fault = await output.fault()
if (fault) {
  printError(`The command has run, but its output can't be written (${fault.code}); look where stdout goes`)
  process.exitCode = exitCodes.failed
}
