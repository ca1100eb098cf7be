import { spawnSync } from 'node:child_process'
import { readdirSync, readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { Command } from 'commander'
import { describe, expect, test } from 'vitest'
import { examples } from '../../../src/cli/examples.ts'
import { exitCodes } from '../../../src/cli/exit-codes.ts'
import { runCli } from '../../../src/cli/run.ts'
import { verbs } from '../../../src/cli/verbs.ts'

const page = readFileSync('docs/reference/cli.md', 'utf8')
const tables = page.split('\n').filter((line) => line.startsWith('|'))
const program = new Command()
type Add = (to: Command, answer: () => void, whole: () => Promise<Command>) => void
const added: Add[] = []
for (const file of readdirSync('src/cli')) {
  if (file === 'main.ts') continue
  // Not an import that Vite transforms: Vitest keeps the transformed one, with the files that there were.
  const exported: Record<string, unknown> = await import(/* @vite-ignore */ resolve('src/cli', file))
  for (const [name, add] of Object.entries(exported)) {
    if (/Commands?$/.test(name) && typeof add === 'function') added.push(add as Add)
  }
}

for (const add of added)
  add(
    program,
    () => {},
    async () => program,
  )

/** Each command that does something, by its words. */
function leavesOf(command: Command, words: string[] = []): { name: string; command: Command }[] {
  const own = command.commands.flatMap((sub) => leavesOf(sub, [...words, sub.name()]))
  return own.length > 0 ? own : [{ name: words.join(' '), command }]
}
const commands = leavesOf(program)

test('the commands are found', () => {
  expect(commands.length).toBeGreaterThan(20)
  expect(Object.keys(verbs).sort()).toEqual(program.commands.map((verb) => verb.name()).sort())
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
    [...cell.matchAll(/`([a-z]+(?:-[a-z]+)*(?: [a-z-]+)?)/g)].map(([, words = '']) => words),
  )
  const known = commands.map(({ name }) => name)
  expect(
    commandsNamed.filter(
      (words) =>
        !known.some((name) => words.startsWith(name)) &&
        !/^(npm run|alias|docker|source|outbound)/.test(words),
    ),
  ).toEqual([])
  const options = new Set(commands.flatMap(({ command }) => command.options.map(({ long }) => long)))
  const named = [...page.matchAll(/(?<![\w-])--[a-z]+(?:-[a-z]+)*/g)].map(([option]) => option)
  expect(
    named.filter(
      (option) => !options.has(option) && !['--json', '--as', '--help', '--version'].includes(option),
    ),
  ).toEqual([])
})

test('docs/reference/cli.md has each exit code once, with its name, and no other', () => {
  const rows = [...page.matchAll(/^\| (\d+) \| `([a-z_]+)` \| \w/gm)].map(([, code, name]) => [
    name,
    Number(code),
  ])
  expect(rows).toEqual(Object.entries(exitCodes))
})

/** The output of a command that needs no database. */
async function printed(...args: string[]): Promise<string> {
  const lines: string[] = []
  const printError = (line: string) => expect.unreachable(line)
  expect(await runCli(args, { environment: {}, print: (line) => lines.push(line), printError })).toBe(0)
  return lines.join('\n')
}

test.each(commands)('outbound $name --help shows an example, which is valid', async ({ name }) => {
  const [, example = ''] =
    /Example:\n {2}outbound (.*)$/.exec(await printed(...name.split(' '), '--help')) ?? []
  expect(example).toMatch(new RegExp(`^${name}`))
  const args = [...example.matchAll(/'([^']*)'|(\S+)/g)].map(([, quoted, bare]) => quoted ?? bare ?? '')
  const asked = new Command().option('--json').exitOverride()
  for (const add of added)
    add(
      asked,
      () => {},
      async () => program,
    )
  if (name !== 'completion') await asked.parseAsync(args, { from: 'user' })
})

test('no example is of an unknown command', () => {
  expect(Object.keys(examples).filter((name) => !commands.some((command) => command.name === name))).toEqual(
    [],
  )
})

test('outbound --help lists each verb with what it is about', async () => {
  const help = await printed('--help')
  expect(help).toMatch(/^Usage: outbound /)
  for (const [name, { description }] of Object.entries(verbs)) {
    expect(help.replaceAll(/\s+/g, ' ')).toContain(`${name} ${description}`)
  }
})

test('a help loads no client of the stores, and a command does: it answers at once', () => {
  const loaded = (arg: string) => {
    const script = `import { createRequire } from 'node:module'
      import { runCli } from './src/cli/run.ts'
      await runCli([${JSON.stringify(arg)}, '--help'], { environment: {}, print() {}, printError() {} })
      console.log(Object.keys(createRequire('/').cache).some((file) => file.includes('/node_modules/pg/')))`
    const run = spawnSync(process.execPath, ['--import', 'tsx', '--input-type=module', '-e', script])
    return String(run.stdout).trim()
  }
  expect([loaded('--json'), loaded('trace')]).toEqual(['false', 'true'])
})

describe('outbound completion', () => {
  /** Bash's offers for a line whose last word is being typed. */
  const offered = async (...words: string[]) => {
    const script = `${await printed('completion', 'bash')}
      COMP_WORDS=(outbound ${words.map((word) => `'${word}'`).join(' ')}); COMP_CWORD=${words.length}
      _outbound outbound '${words.at(-1)}'; printf '%s ' "\${COMPREPLY[@]}"`
    return spawnSync('bash', ['-c', script], { encoding: 'utf8' }).stdout.trim()
  }

  test.each([
    [['acc'], 'account'],
    [['endpoint', 'e'], 'enable'],
    [['channel', 'update', 'ID', '--ra'], '--rate'],
    [['trace', ''], '--follow --json --help'],
  ])('after outbound %j offers %s', async (words, expected) => {
    expect(await offered(...words)).toBe(expected)
  })

  test('names each command and option', async () => {
    for (const shell of ['bash', 'zsh']) {
      const script = await printed('completion', shell)
      for (const { name, command } of commands)
        for (const { long } of command.options) expect(script).toMatch(new RegExp(`"${name}"\\|.*${long}`))
    }
  })
})
