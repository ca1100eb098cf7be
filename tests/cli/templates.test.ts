import { expect, test } from 'vitest'
import { findTemplate } from '../../db/accounts/templates.ts'
import { buildAccount, buildChannel, post } from '../support/builders.ts'
import { runCli } from '../support/cli.ts'
import { serviceOfFile } from '../support/service.ts'

const service = await serviceOfFile()
const account = await buildAccount(service)

function set(channelId: string, name: string, definition: object | string) {
  const json = typeof definition === 'string' ? definition : JSON.stringify(definition)
  return runCli(service, 'template', 'set', '--channel', channelId, '--name', name, '--definition', json)
}

async function expectSet(channelId: string, name: string, definition: object) {
  const { status, stdout, stderr } = await set(channelId, name, definition)
  expect({ status, stderr }).toEqual({ status: 0, stderr: '' })
  expect(
    stdout
      .trim()
      .split('\n')
      .map((line: string) => JSON.parse(line)),
  ).toEqual([{ channelId, name }])
}

async function expectRefusal(result: Awaited<ReturnType<typeof set>>, hint: string, code = 64) {
  const { status, stdout, stderr } = result
  expect({ status, stdout }).toEqual({ status: code, stdout: '' })
  expect(stderr.trim().split('\n')).toHaveLength(1)
  expect(stderr).toContain(hint)
}

const stored = (name: string, channelId = account.channelId) =>
  findTemplate(service.runtime.db, channelId, name)

function sendWith(name: string, keys: string[], channelId = account.channelId) {
  const variables = keys.map((key) => ({ key, value: 'x' }))
  const message = { type: 'template', template: { name, variables } }
  return post(service, { ...account, channelId }, { contact: { value: '+4915112345678' }, message })
}

test('a template that is set applies to the next send', async () => {
  await expectSet(account.channelId, 'welcome: Größe 😀', { text: 'Dear {{name}}' })
  expect(await stored('welcome: Größe 😀')).toEqual({ text: 'Dear {{name}}' })
  expect((await sendWith('welcome: Größe 😀', ['name'])).status).toBe(202)
  const refused = await sendWith('welcome: Größe 😀', [])
  expect(refused.status).toBe(400)
  expect(refused.body.message).toBe('message.template.variables: name is missing')
})

test('a template that is set again is replaced, at once and whole, on its own channel only', async () => {
  const other = await buildChannel(service, account.accountId)
  for (const channelId of [account.channelId, other])
    await expectSet(channelId, 'replaced', { text: '{{a}}' })
  expect((await sendWith('replaced', ['a'])).status).toBe(202)
  await expectSet(account.channelId, 'replaced', { text: '{{b}}' })
  expect(await stored('replaced')).toEqual({ text: '{{b}}' })
  expect(await stored('replaced', other)).toEqual({ text: '{{a}}' })
  expect((await sendWith('replaced', ['a'])).status).toBe(400)
  expect((await sendWith('replaced', ['b'])).status).toBe(202)
  expect((await sendWith('replaced', ['a'], other)).status).toBe(202)
})

test.each([
  ['text: required', {}],
  ['text: has to be a string', { text: 1 }],
  ['text: is empty', { text: '' }],
  ['text: at most 4096 characters', { text: 'x'.repeat(4097) }],
  ['html: unknown field', { text: 'x', html: 'x' }],
  ['JSON', '{text'],
])(
  'a bad definition is refused in one line, named by its field, and the old one stays: %s',
  async (hint, bad) => {
    await expectSet(account.channelId, 'kept', { text: 'Old' })
    await expectRefusal(await set(account.channelId, 'kept', bad), hint)
    expect(await stored('kept')).toEqual({ text: 'Old' })
  },
)

test('a definition that is no object is refused in one line', async () => {
  for (const bad of ['[]', 'null', '"text"', '1']) {
    await expectRefusal(await set(account.channelId, 'none', bad), 'has to be an object')
  }
  expect(await stored('none')).toBeUndefined()
})

test.each(['01890000-0000-7000-8000-000000000000', 'x', ''])(
  'an unknown channel is refused, and the line says how to find the known: %j',
  async (id) => expectRefusal(await set(id, 'welcome', { text: 'x' }), 'channel list', 3),
)

test.each([
  ['empty', ''],
  ['too long', 'x'.repeat(513)],
  ['of two lines', 'a\nb'],
])('a name that no send could have is refused: %s', async (_what, name) => {
  await expectRefusal(await set(account.channelId, name, { text: 'x' }), '--name')
})

test('a name of 512 characters, the longest that a send may have, is accepted', async () => {
  const name = '😀'.repeat(512)
  await expectSet(account.channelId, name, { text: 'x' })
  expect((await sendWith(name, [])).status).toBe(202)
})

test.each([
  ['a key that is longer than a send may give', `{{${'k'.repeat(65)}}}`],
  ['a key of two lines', '{{a\nb}}'],
  ['more keys than a send may give', Array.from({ length: 101 }, (_, i) => `{{${i}}}`).join('')],
])('a definition that no send could satisfy is refused: %s', async (_what, text) => {
  await expectRefusal(await set(account.channelId, 'impossible', { text }), 'text: ')
})
