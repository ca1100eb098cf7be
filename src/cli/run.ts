import { Command, CommanderError } from 'commander'
import { DrizzleQueryError } from 'drizzle-orm'
import { isUnavailable } from '../../db/errors.ts'
import { settingIssue } from '../platform/start-issue.ts'
import { accountCommands } from './account.ts'
import { answerer, type Terminal } from './answer.ts'
import { callbackCommands } from './callback.ts'
import { cancelCommand } from './cancel.ts'
import { channelCommands } from './channel.ts'
import { contactCommands } from './contact.ts'
import { conversationCommands } from './conversation.ts'
import { credentialsCommands } from './credentials.ts'
import { endpointCommands } from './endpoint.ts'
import { flowCommands } from './flow.ts'
import { keyCommands } from './key.ts'
import { receiptCommands } from './receipts.ts'
import { replayCommand } from './replay.ts'
import { suppressionCommands } from './suppression.ts'
import { templateCommands } from './template.ts'
import { traceCommand } from './trace.ts'

/** Runs one command line. @returns the exit code. */
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
    .description('Commands to operate the service.')
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
  receiptCommands(program, answer)
  endpointCommands(program, answer)
  callbackCommands(program, answer)
  suppressionCommands(program, answer)
  traceCommand(program, answer)
  replayCommand(program, answer)
  cancelCommand(program, answer)
  overrideExits(program, terminal)
  return program
}

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

function oneLine(error: unknown): string {
  if (!(error instanceof Error)) return String(error)
  if (error instanceof CommanderError && error.code === 'commander.help') return 'Give a command; see --help'
  const { message } = error instanceof DrizzleQueryError ? (error.cause ?? error) : error
  if (/relation .* does not exist/.test(message))
    return 'The database has no schema yet; run: npm run migrate'
  if (/(database|role) .* does not exist|authentication failed/.test(message))
    return `${message}; check DATABASE_URL`
  const issue = settingIssue(error)
  if (issue === undefined && isUnavailable(error))
    return 'PostgreSQL does not answer; check DATABASE_URL and that it runs'
  return (
    (issue ?? message)
      .replace(/^error: /, '')
      // The value of a mistyped option may be a credential.
      .replace(/^(unknown option '[^=']*)=.*'/s, "$1'")
      // A key may have been given in place of an id.
      .replaceAll(/omk_[0-9A-Za-z]+/g, 'omk_…')
      .replaceAll(/:\s*\n\s*/g, ': ')
      .replaceAll(/\s*\n\s*/g, '; ')
      // A pasted argument may contain control characters that a terminal would obey.
      .replaceAll(/\p{Cc}+/gu, ' ')
  )
}
