import { Command } from 'commander'
import { verbs } from '../../../src/cli/verbs.ts'

/** Each command that does something, by its words. */
export async function allCommands(): Promise<string[]> {
  const program = new Command()
  for (const verb of Object.values(verbs)) {
    const add = await verb.load()
    add(
      program,
      async () => {},
      async () => program,
    )
  }
  return leavesOf(program)
}

function leavesOf(command: Command, words: string[] = []): string[] {
  const own = command.commands.flatMap((sub) => leavesOf(sub, [...words, sub.name()]))
  return own.length > 0 ? own : [words.join(' ')]
}
