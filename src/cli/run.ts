import { type Command, CommanderError } from 'commander'
import type { Answerer, Terminal } from './answer.ts'
import { buildProgram } from './program.ts'

/** Runs one command line. @returns the exit code. */
export async function runCli(args: readonly string[], terminal: Terminal): Promise<0 | 1> {
  try {
    const program = await buildProgram(args, lateAnswerer(terminal))
    overrideExits(program, terminal)
    await program.parseAsync(args, { from: 'user' })
    return 0
  } catch (error) {
    if (error instanceof CommanderError && error.exitCode === 0) return 0
    const { oneLine } = await import('./error-line.ts')
    terminal.printError(oneLine(error))
    return 1
  }
}

/** What talks to the database is loaded for a command, not for its `--help`. */
const lateAnswerer =
  (terminal: Terminal): Answerer =>
  async (...args) =>
    await (await import('./answer.ts')).answerer(terminal)(...args)

/** Makes commander throw instead of ending the process, so that `oneLine` formats every message. */
function overrideExits(command: Command, terminal: Terminal): void {
  command.exitOverride().configureOutput({
    writeOut: (text) => terminal.print(text.trimEnd()),
    // Commander prints no errors: `runCli` prints them, in one line.
    writeErr: () => {},
    outputError: () => {},
  })
  for (const sub of command.commands) overrideExits(sub, terminal)
}
