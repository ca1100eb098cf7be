import { type Command, CommanderError } from 'commander'
import type { Answerer, Terminal } from './answer.ts'
import { Differs, type ExitCode, exitCodes } from './exit-codes.ts'
import { ReaderGone } from './output.ts'
import { buildProgram } from './program.ts'

/** Runs one command line. @returns the exit code. */
export async function runCli(args: readonly string[], terminal: Terminal): Promise<ExitCode> {
  try {
    const program = await buildProgram(args, answerLate(terminal))
    overrideExits(program, terminal)
    await program.parseAsync(args, { from: 'user' })
    return exitCodes.done
  } catch (error) {
    if (error instanceof ReaderGone) return exitCodes.done
    if (error instanceof Differs) return exitCodes.differs
    if (error instanceof CommanderError && error.exitCode === 0) return exitCodes.done
    const { failureOf } = await import('./failure.ts')
    const failure = failureOf(error)
    // Read here, because a faulty command line isn't parsed.
    terminal.printError(args.includes('--json') ? JSON.stringify({ error: failure }) : failure.message)
    return exitCodes[failure.code]
  }
}

/** The parts that talk to the database are loaded for a command, not for its `--help`. */
const answerLate =
  (terminal: Terminal): Answerer =>
  async (...args) =>
    await (await import('./answer.ts')).createAnswer(terminal)(...args)

/** Makes commander throw instead of ending the process, so that `failureOf` forms every message. */
function overrideExits(command: Command, terminal: Terminal): void {
  command.exitOverride().configureOutput({
    writeOut: (text) => terminal.print(text.trimEnd()),
    // Commander prints no errors: `runCli` prints them, in one line.
    writeErr: () => {},
    outputError: () => {},
  })
  for (const sub of command.commands) overrideExits(sub, terminal)
}
