import { eq } from 'drizzle-orm'
import { expect, test } from 'vitest'
import { setTemplate } from '../../db/accounts/templates.ts'
import { sends } from '../../db/schema.ts'
import { buildAccount, buildChannel, post, request } from '../support/builders.ts'
import { expectError, expectFault, expectNothingAccepted } from '../support/expect-error.ts'
import { serviceOfFile } from '../support/service.ts'

const definition = { text: 'Dear {{name}}, your code is {{ code }}.' }
const variable = (key: string, value = 'x') => ({ key, value })
const exact = [variable('name', 'Ann'), variable('code', '1234')]

const service = await serviceOfFile()
const account = await buildAccount(service)
await setTemplate(service.runtime.db, { channelId: account.channelId, name: 'greeting', definition })

function templateBody(variables?: object[] | null, name = 'greeting') {
  const template = variables === undefined ? { name } : { name, variables }
  return { contact: { value: '+4915112345678' }, message: { type: 'template', template } }
}

async function messageOf(requestId: string) {
  const [row] = await service.runtime.db.select().from(sends).where(eq(sends.requestId, requestId))
  return row?.message
}

test('a missing variable is a 400 that names it, and nothing is accepted', async () => {
  const answer = await post(service, account, templateBody([variable('name')]))
  expectError(answer, 400, 'message.template.variables: code is missing')
  await expectNothingAccepted(service, answer)
})

test('the endpoint with the channel in the body names it, too', async () => {
  const answer = await request(service, '/v1/messages', {
    method: 'POST',
    headers: { Authorization: `Bearer ${account.apiKey}`, 'Content-Type': 'application/json' },
    body: JSON.stringify({ channelId: account.channelId, ...templateBody([variable('name')]) }),
  })
  expectError(answer, 400, 'message.template.variables: code is missing')
  await expectNothingAccepted(service, answer)
})

test.each([
  ['left out', undefined],
  ['null', null],
  ['an empty list', []],
])('where variables are %s, every one that the template needs is named', async (_how, variables) => {
  const answer = await post(service, account, templateBody(variables))
  expectError(answer, 400)
  expect(answer.body.message).toContain('name is missing')
  expect(answer.body.message).toContain('code is missing')
})

test('an unknown variable is a 400 that names it by its path, and nothing is accepted', async () => {
  const answer = await post(service, account, templateBody([...exact, variable('nickname')]))
  await expectFault(service, answer, 'message.template.variables[2].key')
})

test('of very many unknown variables ten are named, and how many more there are', async () => {
  const many = Array.from({ length: 98 }, (_, n) => variable(`k${n}`))
  const answer = await post(service, account, templateBody([...exact, ...many]))
  expectError(answer, 400, /; and 88 more faults$/)
  expect(answer.body.message.split('; ')).toHaveLength(11)
})

test('a key in other case or with spaces is another variable', async () => {
  const answer = await post(service, account, templateBody([variable('Name'), variable(' code')]))
  expectError(answer, 400)
  expect(answer.body.message.split('; ')).toEqual([
    'message.template.variables: name is missing',
    'message.template.variables: code is missing',
    'message.template.variables[0].key: the template has no variable Name',
    'message.template.variables[1].key: the template has no variable  code',
  ])
})

test.each([
  ['in order', exact],
  ['in any order', exact.toReversed()],
  ['one of them empty', [variable('name', ''), variable('code')]],
])('exactly its variables, %s, are accepted', async (_how, variables) => {
  const { status, body } = await post(service, account, templateBody(variables))
  expect(status).toBe(202)
  expect(await messageOf(body.requestId)).toEqual({
    type: 'template',
    template: { name: 'greeting', variables, definition },
  })
})

test('a send keeps the definition as it was when it was accepted, and the next send gets the new one', async () => {
  const { db } = service.runtime
  const { channelId } = account
  const [older, newer] = [{ text: 'Old {{a}}' }, { text: 'New {{b}}' }]
  await setTemplate(db, { channelId, name: 'changing', definition: older })
  const before = await post(service, account, templateBody([variable('a')], 'changing'))
  await setTemplate(db, { channelId, name: 'changing', definition: newer })
  expectError(await post(service, account, templateBody([variable('a')], 'changing')), 400)
  const after = await post(service, account, templateBody([variable('b')], 'changing'))
  expect([before.status, after.status]).toEqual([202, 202])
  expect(await messageOf(before.body.requestId)).toMatchObject({ template: { definition: older } })
  expect(await messageOf(after.body.requestId)).toMatchObject({ template: { definition: newer } })
})

test('a template that is not registered passes with whatever variables it has', async () => {
  for (const variables of [undefined, [variable('anything')]]) {
    const { status, body } = await post(service, account, templateBody(variables, 'unregistered'))
    expect(status).toBe(202)
    expect(await messageOf(body.requestId)).toEqual({
      type: 'template',
      template: { name: 'unregistered', variables: variables ?? [] },
    })
  }
})

test("another channel's template of that name counts as unregistered, be it the account's own or a stranger's", async () => {
  const channelId = await buildChannel(service, account.accountId)
  const stranger = await buildAccount(service)
  for (const by of [{ ...account, channelId }, stranger]) {
    const { status, body } = await post(service, by, templateBody([variable('other')]))
    expect(status).toBe(202)
    expect((await messageOf(body.requestId)) as object).not.toHaveProperty('template.definition')
  }
})

test('names of templates are compared exactly', async () => {
  expect((await post(service, account, templateBody([], 'Greeting'))).status).toBe(202)
})

test('a client cannot give a definition of its own', async () => {
  const body = templateBody(exact)
  const answer = await post(service, account, {
    ...body,
    message: { ...body.message, template: { ...body.message.template, definition: { text: 'mine' } } },
  })
  await expectFault(service, answer, 'message.template.definition')
})

test("the log has the refusal without the client's keys and values", async () => {
  const variables = [variable('sesame-key', 'sesame-value'), variable('name', 'Ann-Sesame')]
  const { body } = await post(service, account, templateBody(variables))
  const lines = service.logsOf(body.requestId)
  expect(lines).toMatchObject([
    { event: 'rejected', statusCode: 400, reason: expect.stringContaining('message.template.variables') },
  ])
  expect(JSON.stringify(lines)).not.toMatch(/sesame/i)
})

test('a send that its template refuses uses up no rate limit', async () => {
  const limited = await buildAccount(service, { rateLimit: { points: 2, seconds: 60 } })
  const { channelId } = limited
  await setTemplate(service.runtime.db, { channelId, name: 'greeting', definition })
  for (let i = 0; i < 5; i++) expect((await post(service, limited, templateBody([]))).status).toBe(400)
  const { status, headers } = await post(service, limited, templateBody(exact))
  expect(status).toBe(202)
  expect(headers.get('RateLimit')).toMatch(/^"default";r=1;/)
})

test("a stranger's channel stays absent, whatever its templates", async () => {
  const stranger = await buildAccount(service)
  const answer = await post(
    service,
    { ...stranger, channelId: account.channelId },
    templateBody([variable('x')]),
  )
  expectError(answer, 404, 'Channel not found')
})
