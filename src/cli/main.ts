import { Command, CommanderError } from 'commander'
import { DrizzleQueryError } from 'drizzle-orm'
import { isUnavailable } from '../../db/errors.ts'
import { accountCommands } from './account.ts'
import { channelCommands } from './channel.ts'
import { conversationCommands } from './conversation.ts'
import { flowCommands } from './flow.ts'
import { keyCommands } from './key.ts'
import { traceCommand } from './trace.ts'

/** Faults are printed below, in one line. */
const silent = { outputError: () => {}, writeErr: () => {} }

const program = new Command('npm run -s cli --')
  .description("The operator's commands.")
  .option('--json', 'print exactly one JSON object')
  .showHelpAfterError(false)
  .configureOutput(silent)

program.exitOverride()
accountCommands(program)
keyCommands(program)
channelCommands(program)
flowCommands(program)
conversationCommands(program)
traceCommand(program)
overrideExits(program)

try {
  await program.parseAsync()
} catch (error) {
  if (!(error instanceof CommanderError && error.exitCode === 0)) {
    process.stderr.write(`${oneLine(error)}\n`)
    process.exitCode = 1
  }
}

/** Commander would end the process itself; then no message could be put in our form. */
function overrideExits(command: Command): void {
  for (const sub of command.commands) {
    sub.exitOverride().configureOutput(silent)
    overrideExits(sub)
  }
}

function oneLine(error: unknown): string {
  if (!(error instanceof Error)) return String(error)
  if (isUnavailable(error)) return 'PostgreSQL does not answer; check DATABASE_URL and that it runs'
  const cause = error instanceof DrizzleQueryError ? error.cause : error
  if (error instanceof CommanderError && error.code === 'commander.help') return 'Name a command; see --help'
  if (/relation .* does not exist/.test(cause?.message ?? ''))
    return 'The database has no schema yet; run: npm run migrate'
  return (cause ?? error).message.replace(/^error: /, '').replaceAll(/\s*\n\s*/g, '; ')
}
