import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { setTemplate } from '../../db/accounts/templates.ts'
import { startTestAdmin, type TestAdmin } from '../support/admin.ts'
import { type Account, accept, buildAccount, newContact, textBody } from '../support/builders.ts'
import { samples } from '../support/media-samples.ts'
import { getPage } from '../support/pages.ts'
import { finishedTimeline, startTestService, type TestService } from '../support/service.ts'

let service: TestService
let admin: TestAdmin
let account: Account

beforeAll(async () => {
  service = await startTestService()
  admin = await startTestAdmin(service)
  account = await buildAccount(service)
  await service.startWorker()
})

afterAll(async () => {
  await admin.stop()
  await service.stop()
})

async function received(body: object): Promise<string> {
  const requestId = await accept(service, account, body)
  await finishedTimeline(service, requestId, account.apiKey)
  return requestId
}

const inbox = (query = '') => getPage(`${admin.url}/inbox${query}`)

const mediaBody = (media: object) => ({ contact: { value: newContact() }, message: { type: 'media', media } })

/** Sends it as base64 and fetches what the newest message of the inbox shows for it. */
async function shown(mediaType: string, content: Buffer, more: object = {}) {
  const requestId = await received(mediaBody({ mediaType, base64: content.toString('base64'), ...more }))
  const { html } = await inbox()
  const [bubble = ''] = html.split('<article').filter((each) => each.includes(requestId))
  const [, link = ''] = /(?:src|href)="(\/inbox\/[^"]+\/media)"/.exec(bubble) ?? []
  const response = await fetch(admin.url + link)
  return { bubble, link, headers: response.headers, content: Buffer.from(await response.arrayBuffer()) }
}

test('shows texts and filled templates, the newest first, each with a link to its send', async () => {
  const contact = newContact()
  await setTemplate(service.runtime.db, {
    channelId: account.channelId,
    name: 'welcome',
    definition: { text: 'Hello {{name}},\nwelcome' },
  })
  const text = await received(textBody('First words', contact))
  const template = { name: 'welcome', variables: [{ key: 'name', value: 'Ada' }] }
  const filled = await received({
    contact: { value: contact, name: 'Ada Lovelace' },
    message: { type: 'template', template },
  })
  const { html } = await inbox()
  expect(html.indexOf('Hello Ada,\nwelcome')).toBeLessThan(html.indexOf('First words'))
  for (const requestId of [text, filled]) expect(html).toContain(`href="/support/${requestId}"`)
  expect(html).toContain('Ada Lovelace')
  expect(html).not.toContain(contact)
})

describe('media', () => {
  test.each([
    ['image', 'png', 'image/png', '<img '],
    ['image', 'jpeg', 'image/jpeg', '<img '],
    ['image', 'webp', 'image/webp', '<img '],
    ['video', 'mp4', 'video/mp4', '<video '],
    ['video', 'webm', 'video/webm', '<video '],
    ['audio', 'mp3', 'audio/mpeg', '<audio '],
    ['audio', 'oggOpus', 'audio/ogg', '<audio '],
  ] as const)('%s %s is shown as what its bytes are, %s', async (mediaType, sample, contentType, tag) => {
    const { bubble, headers, content } = await shown(mediaType, samples[sample], {
      mimetype: `${mediaType}/x-lie`,
    })
    expect(bubble).toContain(tag)
    expect(headers.get('content-type')).toBe(contentType)
    expect(headers.get('content-disposition')).toMatch(/^inline;/)
    expect(content.equals(samples[sample])).toBe(true)
  })

  test.each([
    ['a page', Buffer.from('<!doctype html><script>alert(1)</script>'), 'text/html'],
    ['a drawing', samples.svg, 'image/svg+xml'],
    ['a picture that is called a document', samples.png, 'image/png'],
    ['a PDF', samples.pdf, 'application/pdf'],
    ['a script', Buffer.from('alert(1)'), 'text/javascript'],
  ])('%s is a download, whatever type it declares', async (_what, content, mimetype) => {
    const { bubble, headers } = await shown('document', content, { mimetype, filename: 'page.html' })
    expect(bubble).not.toMatch(/<(img|video|audio|iframe|object|embed)/)
    expect(headers.get('content-type')).toBe('application/octet-stream')
    expect(headers.get('content-disposition')).toBe("attachment; filename*=UTF-8''page.html")
  })

  test('what no browser shows is a download, though it came as audio or video', async () => {
    const { bubble, headers } = await shown('video', samples.avi)
    expect(bubble).toContain('Download the file')
    expect(headers.get('content-type')).toBe('application/octet-stream')
    const unknown = await shown('audio', samples.plainText)
    expect(unknown.headers.get('content-disposition')).toMatch(/^attachment;/)
  })

  test('opened by itself, runs no script and keeps its declared type', async () => {
    const { headers } = await shown('image', samples.png)
    expect(headers.get('content-security-policy')).toBe("default-src 'none'; sandbox")
    expect(headers.get('x-content-type-options')).toBe('nosniff')
    expect(headers.get('cross-origin-resource-policy')).toBe('same-origin')
    expect(headers.get('cache-control')).toBe('no-store')
  })

  test('a file name cannot end its header', async () => {
    const { headers } = await shown('document', samples.pdf, { filename: `a"b'c;d(é)\u{1f600}.pdf` })
    expect(headers.get('content-disposition')).toBe(
      "attachment; filename*=UTF-8''a%22b%27c%3Bd%28%C3%A9%29%F0%9F%98%80.pdf",
    )
  })

  test('that came as a link is named, not fetched', async () => {
    await received(
      mediaBody({ mediaType: 'image', mediaUrl: 'https://example.com/cat.png', caption: 'A cat' }),
    )
    const { html } = await inbox()
    expect(html).toContain('By link: https://example.com/cat.png')
    expect(html).not.toMatch(/(src|href)="https?:/)
  })

  test('that came as a link beside files of a mail is not taken for one of these; each file is a download', async () => {
    const attachments = [
      { filename: 'by-link.txt', url: 'https://example.com/by-link.txt' },
      { filename: 'logo.png', base64: samples.png.toString('base64') },
      { filename: 'a"b.pdf', base64: Buffer.from('%PDF-1.7').toString('base64') },
    ]
    const requestId = await received({
      ...mediaBody({ mediaType: 'image', mediaUrl: 'https://example.com/cat.png' }),
      contact: { value: 'ann@example.com', type: 'email' },
      email: { attachments },
    })
    const [bubble = ''] = (await inbox()).html.split('<article').filter((each) => each.includes(requestId))
    expect(bubble).not.toContain('/media"')
    const links = [...bubble.matchAll(/href="(\/inbox\/[^"]+\/attachments\/\d)"/g)].map(([, link]) => link)
    expect(links.map((link) => link?.at(-1))).toEqual(['1', '2'])
    const files = await Promise.all(links.map((link) => fetch(`${admin.url}${link}`)))
    expect(Buffer.from(await (files[0] as Response).arrayBuffer())).toEqual(samples.png)
    expect(await files[1]?.text()).toBe('%PDF-1.7')
    expect(files[1]?.headers.get('Content-Disposition')).toBe("attachment; filename*=UTF-8''a%22b.pdf")
    const id = links[0]?.split('/')[2]
    for (const index of ['0', '3'])
      expect((await getPage(`${admin.url}/inbox/${id}/attachments/${index}`)).status).toBe(404)
  })

  test('that is no longer kept is shown as deleted', async () => {
    const { link } = await shown('image', samples.png, { caption: 'a picture that goes' })
    const [, , id] = link.split('/')
    await service.runtime.db.$client.query('update sandbox_messages set media_content = null where id = $1', [
      id,
    ])
    const { html } = await inbox()
    expect(html.slice(html.indexOf('a picture that goes'))).toContain('The file is no longer kept.')
    expect((await getPage(admin.url + link)).status).toBe(404)
  })

  test('of an unknown message is a page that says so', async () => {
    for (const id of ['none', '01a1fde1-ea47-76ae-9a8d-559e0203a63f', '%00', '..%2f..']) {
      const page = await getPage(`${admin.url}/inbox/${id}/media`)
      expect(page.status).toBe(404)
      expect(page.headers.get('content-type')).toMatch(/^text\/html/)
    }
  })
})

test('is paged, and shows each message once', async () => {
  const { db } = service.runtime
  await db.$client.query(
    `insert into sandbox_messages
    (id, request_id, channel_id, contact_type, contact_value, message, conversation_id)
    select ('fff00000-0000-7000-8000-' || lpad(n::text, 12, '0'))::uuid, gen_random_uuid(), $1, 'phone', '+491510000' || n,
      json_build_object('type', 'text', 'text', json_build_object('value', 'page words ' || n || '.')), gen_random_uuid()
    from generate_series(1, 60) n`,
    [account.channelId],
  )
  const numbers = (html: string) => [...html.matchAll(/page words (\d+)\./g)].map(([, n]) => Number(n))
  const first = await inbox()
  const [, next = ''] = /href="\/inbox(\?before=[^"]+)"/.exec(first.html) ?? []
  const second = await inbox(next)
  const downwards = Array.from({ length: 60 }, (_, n) => 60 - n)
  expect(numbers(first.html)).toEqual(downwards.slice(0, 50))
  expect(numbers(second.html)).toEqual(downwards.slice(50))
  expect(second.html).toContain('href="/inbox">')
})
