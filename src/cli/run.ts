import { Command, CommanderError } from 'commander'
import { DrizzleQueryError } from 'drizzle-orm'
import { isUnavailable } from '../../db/errors.ts'
import { settingFault } from '../platform/start-fault.ts'
import { accountCommands } from './account.ts'
import { answerer, type Terminal } from './answer.ts'
import { channelCommands } from './channel.ts'
import { contactCommands } from './contact.ts'
import { conversationCommands } from './conversation.ts'
import { credentialsCommands } from './credentials.ts'
import { flowCommands } from './flow.ts'
import { keyCommands } from './key.ts'
import { replayCommand } from './replay.ts'
import { templateCommands } from './template.ts'
import { traceCommand } from './trace.ts'

/** @returns what the process is to exit with. */
export async function runCli(args: readonly string[], terminal: Terminal): Promise<0 | 1> {
  try {
    await buildProgram(terminal).parseAsync(args, { from: 'user' })
    return 0
  } catch (error) {
    if (error instanceof CommanderError && error.exitCode === 0) return 0
    terminal.printError(oneLine(error))
    return 1
  }
}

function buildProgram(terminal: Terminal): Command {
  const answer = answerer(terminal)
  const program = new Command('npm run -s cli --')
    .description("The operator's commands.")
    .option('--json', 'print exactly one JSON object')
    .showHelpAfterError(false)
  accountCommands(program, answer)
  keyCommands(program, answer)
  channelCommands(program, answer)
  flowCommands(program, answer)
  conversationCommands(program, answer)
  templateCommands(program, answer)
  contactCommands(program, answer)
  credentialsCommands(program, answer)
  traceCommand(program, answer)
  replayCommand(program, answer)
  overrideExits(program, terminal)
  return program
}

/** Commander would end the process itself; then no message could be put in our form. */
function overrideExits(command: Command, terminal: Terminal): void {
  command.exitOverride().configureOutput({
    writeOut: (text) => terminal.print(text.trimEnd()),
    // Faults are printed in one line.
    writeErr: () => {},
    outputError: () => {},
  })
  for (const sub of command.commands) overrideExits(sub, terminal)
}

function oneLine(error: unknown): string {
  if (!(error instanceof Error)) return String(error)
  if (error instanceof CommanderError && error.code === 'commander.help') return 'Name a command; see --help'
  const { message } = error instanceof DrizzleQueryError ? (error.cause ?? error) : error
  if (/relation .* does not exist/.test(message))
    return 'The database has no schema yet; run: npm run migrate'
  if (/(database|role) .* does not exist|authentication failed/.test(message))
    return `${message}; check DATABASE_URL`
  const fault = settingFault(error)
  if (fault === undefined && isUnavailable(error))
    return 'PostgreSQL does not answer; check DATABASE_URL and that it runs'
  return (
    (fault ?? message)
      .replace(/^error: /, '')
      // A mistyped option may have credentials behind it.
      .replace(/^(unknown option '[^=']*)=.*'/s, "$1'")
      // A key may have been given in place of an id.
      .replaceAll(/omk_[0-9A-Za-z]+/g, 'omk_…')
      .replaceAll(/:\s*\n\s*/g, ': ')
      .replaceAll(/\s*\n\s*/g, '; ')
      // What was pasted may be somebody else's words: none of it is for the terminal to obey.
      .replaceAll(/\p{Cc}+/gu, ' ')
  )
}
