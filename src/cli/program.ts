import { Command } from 'commander'
import { build } from '../platform/process/build.ts'
import type { Answerer } from './answer.ts'
import { displayName } from './argument.ts'
import { examples } from './examples.ts'
import { verbs } from './verbs.ts'

const asOption = [
  '--as <name>',
  'who makes the change, for the audit; default: your user name on this machine',
  displayName,
] as const

/** The command's name: package.json has it as `bin`. */
const commandName = 'outbound'

/** The command line with the commands of the verb that is called; without one, with all verbs' descriptions. */
export async function buildProgram(args: readonly string[], answer: Answerer): Promise<Command> {
  const program = new Command(commandName)
    .description('Commands to operate the service.')
    .option('--json', 'print exactly one JSON object')
    .option(...asOption)
    .version(versionText(args), '--version', 'print the version, the commit and the version of Node.js')
    .showHelpAfterError(false)
    .addHelpText('after', `\nExample:\n  ${commandName} account create --name Acme`)
  const called = args.find((arg, index) => !arg.startsWith('-') && args[index - 1] !== '--as')
  // `outbound help key` is `outbound key --help`.
  const wanted = called === 'help' ? args[args.indexOf(called) + 1] : called
  for (const name of Object.keys(verbs)) await addVerb(program, name, answer, name === wanted)
  return program
}

function versionText(args: readonly string[]): string {
  const { version, commit, node } = build
  return args.includes('--json') ? JSON.stringify(build) : `${version} (commit ${commit}, Node.js ${node})`
}

/** The command line with all commands. */
async function buildWholeProgram(answer: Answerer): Promise<Command> {
  const program = new Command(commandName)
    .option('--json')
    .option(...asOption)
    .option('--version')
  for (const name of Object.keys(verbs)) await addVerb(program, name, answer, true)
  return program
}

async function addVerb(program: Command, name: string, answer: Answerer, isCalled: boolean): Promise<void> {
  const verb = verbs[name]
  if (!verb) return
  if (isCalled) (await verb.load())(program, answer, () => buildWholeProgram(answer))
  else program.command(name)
  const command = program.commands.find((one) => one.name() === name)
  command?.description(verb.description)
  if (command && isCalled) addExamples(command, name)
}

function addExamples(command: Command, words: string): void {
  for (const sub of command.commands) addExamples(sub, `${words} ${sub.name()}`)
  const example = examples[words]
  if (example !== undefined)
    command.addHelpText('after', `\nExample:\n  ${`${commandName} ${words} ${example}`.trim()}`)
}
