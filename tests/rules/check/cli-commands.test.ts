import { readdirSync, readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { Command } from 'commander'
import { expect, test } from 'vitest'

const page = readFileSync('docs/reference/cli.md', 'utf8')
const tables = page.split('\n').filter((line) => line.startsWith('|'))
const program = new Command()
for (const file of readdirSync('src/cli')) {
  if (file === 'main.ts') continue
  // Not an import that Vite transforms: Vitest keeps the transformed one, with the files that there were.
  const exported: Record<string, unknown> = await import(/* @vite-ignore */ resolve('src/cli', file))
  for (const [name, add] of Object.entries(exported)) {
    if (/Commands?$/.test(name) && typeof add === 'function') add(program, () => {})
  }
}

/** Each command that does something, by its words. */
function leavesOf(command: Command, words: string[] = []): { name: string; command: Command }[] {
  const own = command.commands.flatMap((sub) => leavesOf(sub, [...words, sub.name()]))
  return own.length > 0 ? own : [{ name: words.join(' '), command }]
}
const commands = leavesOf(program)

test('the commands are found', () => {
  expect(commands.length).toBeGreaterThan(20)
  expect(readFileSync('src/cli/run.ts', 'utf8').match(/^ +\w+Commands?\(program, answer\)$/gm)?.length).toBe(
    program.commands.length,
  )
})

test.each(commands)(
  'docs/reference/cli.md has a row for $name, and for each of its options',
  ({ name, command }) => {
    const rows = tables.filter((line) => new RegExp(`[\`]${name}[ \`]`).test(line.split(' | ')[0] ?? ''))
    expect(rows).not.toEqual([])
    const text = rows.join('\n').includes('#channel-options') ? tables.join('\n') : rows.join('\n')
    expect(command.options.map(({ long }) => long).filter((long) => !text.includes(`${long}`))).toEqual([])
  },
)

test('docs/reference/cli.md has no unknown command or option', () => {
  const first = tables.map((line) => line.split(' | ')[0] ?? '')
  const commandsNamed = first.flatMap((cell) =>
    [...cell.matchAll(/`([a-z]+(?: [a-z-]+)?)/g)].map(([, words = '']) => words),
  )
  const known = commands.map(({ name }) => name)
  expect(
    commandsNamed.filter((words) => !known.some((name) => words.startsWith(name)) && words !== 'npm run'),
  ).toEqual([])
  const options = new Set(commands.flatMap(({ command }) => command.options.map(({ long }) => long)))
  const named = [...page.matchAll(/(?<![\w-])--[a-z]+(?:-[a-z]+)*/g)].map(([option]) => option)
  expect(named.filter((option) => !options.has(option) && !['--json', '--help'].includes(option))).toEqual([])
})
