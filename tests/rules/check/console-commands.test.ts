import { expect, test } from 'vitest'
import { createAdminApp } from '../../../src/admin/app.ts'
import { routesOf } from '../../../src/admin/people/allow.ts'
import { createLogger } from '../../../src/platform/log/logger.ts'
import { readAdminSettings } from '../../../src/platform/settings/settings.ts'
import { openRuntime } from '../../../src/runtime.ts'
import { allCommands } from './all-commands.ts'
import { rowsOf } from './table-rows.ts'

const page = 'docs/reference/admin.md'
const rows = rowsOf(page, '| Command | Page |').map(([command = '', where = '']) => ({
  command: command.replaceAll('`', ''),
  where: where.trim(),
}))

/** A runtime that opens no connection before it is asked. */
const settings = readAdminSettings({
  DATABASE_URL: 'postgres://postgres@127.0.0.1:1/none',
  REDIS_URL: 'redis://127.0.0.1:1',
})

test('docs/reference/admin.md says of each command which page does the same, or why there is none', async () => {
  expect(rows.map(({ command }) => command).sort()).toEqual((await allCommands()).sort())
})

test('each page that does what a command does is there', async () => {
  const runtime = openRuntime('admin', settings, createLogger('silent'))
  const routes = routesOf(createAdminApp(runtime)).map(({ method, path }) => `${method} ${path}`)
  await runtime.close()
  const named = rows.filter(({ where }) => where.startsWith('`'))
  expect(named.length).toBeGreaterThan(30)
  for (const { command, where } of named) expect(routes, command).toContain(where.slice(1, -1))
  for (const { where } of rows.filter((row) => !named.includes(row))) expect(where).toMatch(/^none: \w/)
})
