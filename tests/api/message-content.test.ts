import { sql } from 'drizzle-orm'
import { expect, test } from 'vitest'
import { setTemplate } from '../../db/accounts/templates.ts'
import { eraseSends } from '../../db/upkeep/erase.ts'
import { ask } from '../support/account-routes.ts'
import { accept, buildAccount, buildKey, newContact } from '../support/builders.ts'
import { expectError } from '../support/expect-error.ts'
import { inSeconds } from '../support/later.ts'
import { samples } from '../support/media-samples.ts'
import { serviceOfFile } from '../support/service.ts'

const service = await serviceOfFile()
const { db } = service.runtime
const account = await buildAccount(service)
const reader = await buildKey(service, account.accountId, { permissions: ['messages:content'] })
const read = (requestId: string, by = reader, query = '?include=message') =>
  ask(service, by, 'GET', `/v1/messages/${requestId}${query}`)

const send = (message: object, fields: object = {}) =>
  accept(service, account, { contact: { value: newContact() }, message, ...fields })

const text = { type: 'text', text: { value: '  Hello <b>Ann</b> 🙂\n' } }

test.each([
  ['a text', text, text],
  [
    'a template, without its registration',
    { type: 'template', template: { name: 'welcome', variables: [{ key: 'name', value: 'Ann' }] } },
    { type: 'template', template: { name: 'welcome', variables: [{ key: 'name', value: 'Ann' }] } },
  ],
  [
    'a media by link',
    { type: 'media', media: { mediaType: 'image', mediaUrl: 'https://example.com/a.png', caption: 'A' } },
    { type: 'media', media: { mediaType: 'image', mediaUrl: 'https://example.com/a.png', caption: 'A' } },
  ],
  [
    'a media by content, without its bytes',
    {
      type: 'media',
      media: { mediaType: 'image', base64: samples.png.toString('base64'), filename: 'a.png' },
    },
    {
      type: 'media',
      media: {
        mediaType: 'image',
        filename: 'a.png',
        mimetype: 'image/png',
        sizeBytes: samples.png.length,
      },
    },
  ],
])('%s is read as it was sent', async (_, message, expected) => {
  const definition = { text: 'Hello {{name}}' }
  await setTemplate(db, { channelId: account.channelId, name: 'welcome', definition })
  const { status, body } = await read(await send(message))
  expect(status).toBe(200)
  expect(body.message).toStrictEqual(expected)
  expect(body.events).toHaveLength(1)
})

test('the content of a scheduled send is read, too', async () => {
  expect((await read(await send(text, { sendAt: inSeconds(3600) }))).body.message).toEqual(text)
})

test('what was said of a mail is read beside its message, and is null where nothing was', async () => {
  const email = { subject: 'Hello', html: '<p>Hello</p>', headers: { 'X-A': 'b' } }
  const contact = { value: 'ann@example.com', type: 'email' }
  const { body } = await read(await accept(service, account, { contact, message: text, email }))
  expect([body.message, body.email]).toStrictEqual([text, email])
  expect((await read(await send(text))).body.email).toBeNull()
})

test('an erased content is null', async () => {
  const requestId = await send(text)
  await db.execute(sql`update sends set status = 'sent', finished_at = now() where request_id = ${requestId}`)
  expect(await eraseSends(db, [requestId])).toBe(1)
  const { status, body } = await read(requestId)
  expect([status, body.message, body.email]).toEqual([200, null, null])
})

test('a timeline holds no content unless it is asked for', async () => {
  const requestId = await send(text)
  const { body } = await read(requestId, account, '')
  expect(body).not.toHaveProperty('message')
  expect(JSON.stringify(body)).not.toContain('Hello')
})

test('only messages:content reads the content, and it alone reads no timeline without', async () => {
  const requestId = await send(text)
  expectError(await read(requestId, account), 403, 'This API key lacks the permission messages:content.')
  expectError(await read(requestId, reader, ''), 403, 'This API key lacks the permission messages:read.')
})

test('another account finds no content', async () => {
  const other = await buildAccount(service, { permissions: ['messages:content'] })
  expectError(await read(await send(text), other), 404, 'Message not found')
})

test.each(['?include=all', '?include=', '?include=message&include=message', '?include=message,events'])(
  '%s is a 400 that names the parameter',
  async (query) => {
    expectError(await read(await send(text), reader, query), 400, /^include: /)
  },
)

test('parameters that mean nothing are ignored, as in earlier releases', async () => {
  expect((await read(await send(text), account, '?cache=1')).status).toBe(200)
})
