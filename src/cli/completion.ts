import { Argument, type Command } from 'commander'
import type { Answerer } from './answer.ts'

export function completionCommand(program: Command, _answer: Answerer, whole: () => Promise<Command>): void {
  program
    .command('completion')
    .addArgument(new Argument('<shell>', 'the shell').choices(['bash', 'zsh']))
    .action(async (shell: string, _options: object, command: Command) => {
      command.configureOutput().writeOut?.(scriptOf(await whole(), shell))
    })
}

/** A script that knows all commands and options, so that no process is started for a completion. */
function scriptOf(program: Command, shell: string): string {
  const name = program.name()
  // The longest first: what follows `channel` may follow `channel update ID` only where that has no line.
  const cases = wordsOf(program)
    .reverse()
    .map(
      ([path, words]) => `    ${path === '' ? '""' : `"${path}"|"${path} "*`}) words="${words.join(' ')}" ;;`,
    )
  return `${shell === 'zsh' ? 'autoload -Uz compinit bashcompinit && compinit && bashcompinit\n' : ''}_${name}() {
  local path="" words="" word
  for word in "\${COMP_WORDS[@]:1:$((COMP_CWORD - 1))}"; do
    case "$word" in -*) break ;; esac
    path="\${path:+$path }$word"
  done
  case "$path" in
${cases.join('\n')}
  esac
  COMPREPLY=($(compgen -W "$words" -- "$2"))
}
complete -F _${name} ${name}
`
}

/** The words that may follow those of a command line: commands, or options. */
function wordsOf(command: Command, path = ''): [string, string[]][] {
  const subs = command.commands.map((sub) => sub.name())
  const options = command.options.flatMap(({ long }) => long ?? []).filter((option) => option !== '--json')
  return [
    [path, [...subs, ...options, '--json', '--help']],
    ...command.commands.flatMap((sub) => wordsOf(sub, path === '' ? sub.name() : `${path} ${sub.name()}`)),
  ]
}
