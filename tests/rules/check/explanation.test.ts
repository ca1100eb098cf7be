import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { rowsOf } from './table-rows.ts'

const sourcesOf = (folder: string) =>
  readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter((file) => file.endsWith('.ts'))
    .map((file) => ({ path: join(folder, file), source: readFileSync(join(folder, file), 'utf8') }))

describe('docs/explanation/design.md', () => {
  const page = 'docs/explanation/design.md'

  test('lists each file with a periodic task of a worker, and no other', () => {
    const starting = sourcesOf('workers').filter(({ source }) =>
      /(?<!function )startPeriodicTask\(/.test(source),
    )
    const files = rowsOf(page, '| Task | How often | What it does | File |').map(([, , , file]) => file)
    expect([...new Set(files)].sort()).toEqual(starting.map(({ path }) => `\`${path}\``).sort())
  })

  test('names each queue', () => {
    const names = sourcesOf('src/core').flatMap(({ source }) =>
      [...source.matchAll(/\w*[qQ]ueueName = ('[\w-]+')/g)].map(([, name = '']) => name.replaceAll("'", '`')),
    )
    const text = readFileSync(page, 'utf8')
    expect(names.length).toBeGreaterThan(2)
    expect(names.filter((name) => !text.includes(name))).toEqual([])
  })
})

test('docs/explanation/wake-ups.md names each file that wakes sends or endpoints', () => {
  const ways =
    /\b(?:addWakeUps|restore(?:Endpoints)?OnShards|create(?:TolerantWake|WakeLanes|WakeEndpoints)|wake)\(\w/
  /** By which the others do it. */
  const means = /^src\/queue\//
  const waking = ['src', 'workers']
    .flatMap(sourcesOf)
    .filter(({ path, source }) => ways.test(source) && !means.test(path))
  const text = readFileSync('docs/explanation/wake-ups.md', 'utf8')
  expect(waking.length).toBeGreaterThan(9)
  expect(waking.map(({ path }) => path).filter((path) => !text.includes(`\`${path}\``))).toEqual([])
})
