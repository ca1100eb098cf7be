import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { onUncertainWords } from '../../../src/core/sends/outcome.ts'
import { providerNames, providers } from '../../../src/providers/index.ts'
import { receivingConfigs } from '../../system/hostile/receiving-configs.ts'

/** Where a provider may be named: its own files, the maps, and what shows them all in development. */
const places = ['src/providers/', 'workers/providers/', 'src/dev/']

const sources = ['src', 'workers', 'db']
  .flatMap((folder) =>
    readdirSync(folder, { recursive: true, encoding: 'utf8' }).map((path) => join(folder, path)),
  )
  .filter((path) => /\.tsx?$/.test(path))

/** As a value, or as a file that is imported: in a comment it does no harm. `resend` is a word for something else, too. */
function naming(text: string): string[] {
  const isWord = (name: string) => (onUncertainWords as readonly string[]).includes(name)
  return providerNames.filter((name) =>
    new RegExp(isWord(name) ? `providers/${name}/` : `['"\`]${name}['"\`]|providers/${name}/`).test(text),
  )
}

test('no provider is named outside its files, the maps and src/dev: adding one touches nothing else', () => {
  expect(sources).toContain('src/api/send-message.ts')
  const elsewhere = sources
    .filter((path) => !places.some((place) => path.startsWith(place)))
    .map((path) => [path, naming(readFileSync(path, 'utf8'))])
    .filter(([, names]) => names?.length)
  expect(elsewhere).toEqual([])
})

test.each([
  'if (channel.provider === "webhook") {',
  "import { x } from '../providers/sandbox/index.ts'",
  "import { x } from '../providers/resend/config.ts'",
  '`webhook`',
])('that check finds %s', (line) => {
  expect(naming(line)).toHaveLength(1)
})

test.each(providerNames)('the page of %s says how to create a channel of it', (name) => {
  const page = readFileSync(`docs/reference/providers/${name}.md`, 'utf8')
  const command = `channel create --account \\$ACCOUNT --provider ${name} [^'<]*--config`
  const given = new RegExp(`${command} (?:'(.*)'|- <<'EOF'\\n(.*)\\nEOF\\n)`)
  const [, argument, onStdin = ''] = given.exec(page) ?? []
  const config = argument ?? onStdin
  expect(providers[name].config.safeParse(JSON.parse(config)).error).toBeUndefined()
})

const ruleTests = readdirSync('tests/rules', { recursive: true, encoding: 'utf8' })
  .filter((path) => path.endsWith('.test.ts'))
  .map((path) => readFileSync(join('tests/rules', path), 'utf8'))
  .join('\n')
const receiving = providerNames.filter((name) => providers[name].receipts)

test.each(receiving)('the receipts of %s keep the contract of all receipts', (name) => {
  expect(ruleTests).toContain(`describeReceipts('${name}'`)
})

test('hostile receipts come to a channel of every provider that takes receipts', () => {
  expect(Object.keys(receivingConfigs).sort()).toEqual([...receiving].sort())
})

test.each(receiving)('the config for hostile receipts of %s turns them on', (name) => {
  const { config, receipts } = providers[name]
  const given = Object.entries(receivingConfigs).find(([provider]) => provider === name)?.[1]
  expect(receipts?.areOn(config.parse(given))).toBe(true)
})

test.each(providerNames)('%s has a folder and a test of its name', (name) => {
  expect(existsSync(`src/providers/${name}`)).toBe(true)
  // The sandbox's messages go to PostgreSQL, which the rules' tests have none of.
  const folder = name === 'sandbox' ? 'tests/workers' : 'tests/rules/providers'
  expect(readFileSync(`${folder}/${name}.test.ts`, 'utf8')).toContain(`describeProvider('${name}'`)
})
