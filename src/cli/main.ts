#!/usr/bin/env node
import { environmentVariables } from '../platform/environment.ts'
import { runCli } from './run.ts'

// Libraries' warnings are for developers. stderr is for the one line that tells an operator what to do.
process.removeAllListeners('warning')

process.exitCode = await runCli(process.argv.slice(2), {
  environment: environmentVariables,
  print: console.log,
  printError: (line) => process.stderr.write(`${line}\n`),
  readSecret: async (name) => {
    const { readSecret } = await import('./read-secret.ts')
    return await readSecret(process.stdin, (question) => process.stderr.write(question), name)
  },
})
