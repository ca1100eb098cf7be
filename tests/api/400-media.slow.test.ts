import { eq } from 'drizzle-orm'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { media as mediaTable, sends } from '../../db/schema.ts'
import { type Account, accept, buildAccount, post } from '../support/builders.ts'
import { cpuMsOf } from '../support/cpu-time.ts'
import { expectError, expectFault } from '../support/expect-error.ts'
import { samples } from '../support/media-samples.ts'
import { startTestService, type TestService } from '../support/service.ts'

let service: TestService
let account: Account

beforeAll(async () => {
  service = await startTestService()
  account = await buildAccount(service)
})
afterAll(() => service.stop())

function media(fields: object) {
  return {
    contact: { value: '+4915112345678' },
    message: { type: 'media', media: { mediaType: 'document', ...fields } },
  }
}

async function expectTaken(fields: object, at: TestService = service, by: Account = account) {
  const requestId = await accept(at, by, media(fields))
  const { db } = at.runtime
  const [row] = await db.select().from(sends).where(eq(sends.requestId, requestId))
  const [stored] = await db.select().from(mediaTable).where(eq(mediaTable.requestId, requestId))
  return { media: row?.message.type === 'media' ? row.message.media : undefined, content: stored?.content }
}

async function expectRefused(fields: object, path: string) {
  await expectFault(service, await post(service, account, media(fields)), path)
}

describe('mediaType', () => {
  test.each(['sticker', 'IMAGE', '', null, 1])('%j is refused', async (mediaType) => {
    await expectRefused({ mediaType, base64: 'QUJD' }, 'message.media.mediaType')
  })
})

describe('base64', () => {
  test.each([
    ['with padding', 'QUI=', 'AB'],
    ['without padding', 'QUI', 'AB'],
    ['with double padding', 'QQ==', 'A'],
    ['with line breaks', 'QUJD\r\nREVG\nRw==\n', 'ABCDEFG'],
    ['of the standard alphabet', '+/+/', '\xfb\xff\xbf'],
    ['as a data: URL', 'data:text/plain;base64,QUJD', 'ABC'],
    ['as a data: URL with parameters', 'data:text/plain;charset=utf-8;base64,QUJD', 'ABC'],
    ['as a data: URL without a type', 'data:;base64,QUJD', 'ABC'],
    ['as a data: URL with line breaks', 'data:text/plain;base64,QU\r\nJD', 'ABC'],
    ['as a data: URL without padding', 'data:text/plain;base64,QUI', 'AB'],
  ])('%s is decoded', async (_what, base64, content) => {
    const stored = await expectTaken({ base64 })
    expect(stored.content?.toString('latin1')).toBe(content)
    expect(stored.media?.sizeBytes).toBe(content.length)
  })

  test.each([
    ['the URL alphabet', '-_-_'],
    ['a space', 'QU JD'],
    ['a tab', 'QU\tJD'],
    ['a character too many', 'QUJDR'],
    ['padding inside', 'QQ==QUJD'],
    ['three times padding', 'Q==='],
    ['padding only', '=='],
    ['nothing', ''],
    ['line breaks only', '\r\n\r\n'],
    ['other characters', 'not base64!'],
    ['characters that only look like it', 'ＱＵＪＤ'],
    ['a data: URL without base64', 'data:text/plain,ABC'],
    ['a data: URL without content', 'data:text/plain;base64,'],
    ['a data: URL without a comma', 'data:text/plain;base64'],
    ['a data: URL with the URL alphabet', 'data:text/plain;base64,-_-_'],
    ['an endless head of a data: URL', `data:${'a'.repeat(100_000)}`],
  ])('of %s is refused', async (_what, base64) => {
    await expectRefused({ base64 }, 'message.media.base64')
  })

  test('a million line breaks are parsed quickly', async () => {
    // The thread takes a while to start from its sources.
    await expectTaken({ base64: Buffer.alloc(200_000, 'outbound').toString('base64') })
    const took = await cpuMsOf(async () => {
      await expectRefused({ base64: `${'\n'.repeat(1_000_000)}!` }, 'message.media.base64')
    })
    expect(took).toBeLessThan(1500)
  })

  test('of 16 MiB decoded is stored whole', async () => {
    const content = Buffer.alloc(16 * 1024 * 1024, 'outbound')
    const stored = await expectTaken({ base64: content.toString('base64') })
    expect(stored.content?.equals(content)).toBe(true)
    expect(stored.media?.sizeBytes).toBe(content.length)
  })

  test('of 16 MiB and a byte decoded is refused', async () => {
    const content = Buffer.alloc(16 * 1024 * 1024 + 1, 'outbound')
    await expectRefused({ base64: content.toString('base64') }, 'message.media.base64')
  })

  test("its data: URL's type counts where no mimetype is given", async () => {
    const base64 = 'data:text/csv;base64,QUJD'
    expect((await expectTaken({ base64 })).media?.mimetype).toBe('text/csv')
    expect((await expectTaken({ base64, mimetype: 'text/plain' })).media?.mimetype).toBe('text/plain')
  })

  test('and mediaUrl together are accepted, and both stored', async () => {
    const mediaUrl = 'https://example.com/a.txt'
    const stored = await expectTaken({ base64: 'QUJD', mediaUrl })
    expect(stored.content?.toString()).toBe('ABC')
    expect(stored.media?.mediaUrl).toBe(mediaUrl)
  })
})

describe('mimetype, filename, caption', () => {
  const content = { base64: 'QUJD' }

  test.each([
    ['a simple type', { mimetype: 'text/plain' }],
    [
      'a vendor type',
      { mimetype: 'application/vnd.openxmlformats-officedocument.wordprocessingml.document' },
    ],
    ['a parameter', { mimetype: 'text/plain; charset=utf-8' }],
    ['a name of many scripts', { filename: 'Übersicht 报告 (1).v2.pdf' }],
    ['a name of dots', { filename: '...' }],
    ['a caption of 1024 characters', { caption: 'c'.repeat(1024) }],
    ['a caption of 1024 emoji', { caption: '😀'.repeat(1024) }],
    ['a caption of several lines', { caption: 'one\ntwo\t3' }],
  ])('%s is stored as it came', async (_what, fields) => {
    expect((await expectTaken({ ...content, ...fields })).media).toMatchObject(fields)
  })

  test('null counts as absent', async () => {
    const nothing = { mimetype: null, filename: null, caption: null, mediaUrl: null }
    expect((await expectTaken({ ...content, ...nothing })).media).toStrictEqual({
      mediaType: 'document',
      sizeBytes: 3,
    })
  })

  test.each([
    ['mimetype', 'text'],
    ['mimetype', ''],
    ['mimetype', 'text/'],
    ['mimetype', 'text/plain\r\nBcc: x'],
    ['mimetype', 'text/pl ain'],
    ['mimetype', 'text/plain, text/html'],
    ['filename', ''],
    ['filename', '.'],
    ['filename', '..'],
    ['filename', '../secret'],
    ['filename', '/etc/passwd'],
    ['filename', 'C:\\x.txt'],
    ['filename', 'a/b'],
    ['filename', 'a\nb'],
    ['filename', 'a\x1bb'],
    ['filename', 'a\x7fb'],
    ['caption', 'c'.repeat(1025)],
    ['caption', '😀'.repeat(1025)],
  ])('%s %j is refused', async (field, value) => {
    await expectRefused({ ...content, [field]: value }, `message.media.${field}`)
  })
})

describe('recognised content has to match its mediaType', () => {
  const taken: [keyof typeof samples, string[]][] = [
    ['png', ['image', 'document']],
    ['jpeg', ['image', 'document']],
    ['gif', ['image', 'document']],
    ['webp', ['image', 'document']],
    ['mp3', ['audio', 'document']],
    ['wav', ['audio', 'document']],
    ['avi', ['video', 'document']],
    ['mp4', ['audio', 'video', 'document']],
    ['m4a', ['audio', 'video', 'document']],
    ['m4v', ['audio', 'video', 'document']],
    ['oggOpus', ['audio', 'video', 'document']],
    ['oggVorbis', ['audio', 'video', 'document']],
    ['oggTheora', ['audio', 'video', 'document']],
    ['oggOther', ['audio', 'video', 'document']],
    ['webm', ['audio', 'video', 'document']],
    ['pdf', ['document']],
    ['zip', ['document']],
    ['plainText', ['audio', 'video', 'document']],
    ['svg', ['document']],
  ]
  const cases = taken.flatMap(([name, types]) =>
    ['image', 'audio', 'video', 'document'].map((type) => [name, type, types.includes(type)] as const),
  )

  test.each(cases.filter(([, , good]) => good))('%s is accepted as %s', async (name, mediaType) => {
    const stored = await expectTaken({ mediaType, base64: samples[name].toString('base64') })
    expect(stored.content).toEqual(samples[name])
  })

  test.each(
    // It doesn't matter whether the mark-up of an SVG passes as audio.
    cases.filter(([name, type, good]) => !good && (name !== 'svg' || type === 'image')),
  )('%s is refused as %s', async (name, mediaType) => {
    await expectRefused({ mediaType, base64: samples[name].toString('base64') }, 'message.media.base64')
  })

  test('a declared mimetype does not change that', async () => {
    const base64 = `data:image/png;base64,${samples.pdf.toString('base64')}`
    await expectRefused({ mediaType: 'image', mimetype: 'image/png', base64 }, 'message.media.base64')
  })
})

describe('a mimetype that contradicts the content', () => {
  const png = samples.png.toString('base64')

  test.each([
    ['declared', { mimetype: 'image/jpeg', base64: png }],
    ['of a data: URL', { base64: `data:image/jpeg;base64,${png}` }],
    ['of a document', { mediaType: 'document', mimetype: 'image/jpeg', base64: png }],
  ])('is a 400 that names both: %s', async (_what, fields) => {
    const answer = await post(service, account, media({ mediaType: 'image', ...fields }))
    const message = /^message\.media\.mimetype: is image\/jpeg, but the content is recognised as image\/png/
    expectError(answer, 400, message)
  })

  test.each([
    ['image', 'jpeg', 'image/jpg'],
    ['audio', 'm4a', 'audio/mp4'],
    ['audio', 'oggOpus', 'audio/ogg; codecs=opus'],
    ['document', 'zip', 'application/vnd.openxmlformats-officedocument.wordprocessingml.document'],
  ] as const)('another name of the same passes: an %s of %s as %s', async (mediaType, name, mimetype) => {
    const stored = await expectTaken({ mediaType, mimetype, base64: samples[name].toString('base64') })
    expect(stored.media?.mimetype).toBe(mimetype)
  })

  test('does not matter for what the provider fetches itself', async () => {
    const fields = { mediaType: 'image', mimetype: 'image/jpeg', mediaUrl: 'https://example.com/a.png' }
    expect((await expectTaken(fields)).media?.mimetype).toBe('image/jpeg')
  })
})

describe('mediaUrl', () => {
  const long = (length: number) => `https://example.com/${'x'.repeat(length - 'https://example.com/'.length)}`

  test.each([
    'http://example.com',
    'https://example.com:8443/a%20b?c=d&e=%F0%9F%98%80#f',
    'HTTPS://EXAMPLE.COM/A',
    'https://bücher.example/ü',
    'http://93.184.216.34/x',
    'http://[2606:2800:220:1:248:1893:25c8:1946]/x',
    'http://172.32.0.1/x',
    'http://localhost/resolved-only-when-it-is-fetched',
    long(2048),
  ])('%s is accepted and stored as it came', async (mediaUrl) => {
    expect((await expectTaken({ mediaType: 'image', mediaUrl })).media).toStrictEqual({
      mediaType: 'image',
      mediaUrl,
    })
  })

  test.each([
    ['', 'nothing'],
    ['example.com/a.png', 'no scheme'],
    ['//example.com/a.png', 'no scheme'],
    ['/a.png', 'no host'],
    ['https://', 'no host'],
    ['ftp://example.com/a.png', 'another scheme'],
    ['file:///etc/passwd', 'another scheme'],
    ['javascript:alert(1)', 'another scheme'],
    ['data:image/png;base64,QUJD', 'another scheme'],
    ['https://user@example.com/', 'a user'],
    ['https://user:password@example.com/', 'a password'],
    ['https://:password@example.com/', 'a password'],
    ['https://exa mple.com/', 'a space in the host'],
    ['https://example.com:99999/', 'no such port'],
    [long(2049), '2049 characters'],
  ])('%s is refused: %s', async (mediaUrl) => {
    await expectRefused({ mediaUrl }, 'message.media.mediaUrl')
  })

  const privateHosts = [
    '127.0.0.1',
    '127.1',
    '0x7f000001',
    '0x7f.1',
    '2130706433',
    '0177.0.0.1',
    '127.0.0.1.',
    '127.0.0.1:8080',
    '１２７.0.0.1',
    '0.0.0.0',
    '0',
    '10.0.0.1',
    '172.16.0.1',
    '172.31.255.255',
    '192.168.1.1',
    '169.254.169.254',
    '100.64.0.1',
    '192.0.0.1',
    '198.18.0.1',
    '224.0.0.1',
    '240.0.0.1',
    '255.255.255.255',
    '[::]',
    '[::1]',
    '[0:0:0:0:0:0:0:1]',
    '[::127.0.0.1]',
    '[::ffff:127.0.0.1]',
    '[::ffff:7f00:1]',
    '[::ffff:169.254.169.254]',
    '[::ffff:0:127.0.0.1]',
    '[64:ff9b::7f00:1]',
    '[64:ff9b:1::7f00:1]',
    '[2002:7f00:1::]',
    '[2001:db8::1]',
    '[fc00::1]',
    '[fd00::1]',
    '[fd00::1]:8080',
    '[fe80::1]',
    '[fec0::1]',
    '[ff02::1]',
  ]
  test.each(privateHosts)('http://%s is refused: not public', async (host) => {
    await expectRefused({ mediaUrl: `http://${host}/latest/meta-data` }, 'message.media.mediaUrl')
  })

  test.each([1, 21, 22, 25, 79, 81, 442, 444, 587, 1023])('port %i is refused', async (port) => {
    await expectRefused({ mediaUrl: `http://example.com:${port}/x` }, 'message.media.mediaUrl')
  })

  test.each([80, 443, 1024, 8080, 65_535])('port %i is taken', async (port) => {
    const mediaUrl = `http://example.com:${port}/x`
    expect((await expectTaken({ mediaUrl })).media?.mediaUrl).toBe(mediaUrl)
  })

  test('a private address is refused also if base64 is given', async () => {
    await expectRefused({ base64: 'QUJD', mediaUrl: 'http://127.0.0.1/' }, 'message.media.mediaUrl')
  })

  describe('with CLIENT_PRIVATE_NETWORKS', () => {
    let allowing: TestService
    let owner: Account

    beforeAll(async () => {
      allowing = await startTestService({ CLIENT_PRIVATE_NETWORKS: '127.0.0.0/8, 10.1.0.0/16,fd00::/64' })
      owner = await buildAccount(allowing)
    })
    afterAll(() => allowing.stop())

    test.each([
      '127.0.0.1',
      '127.1',
      '2130706433',
      '10.1.255.1',
      '[::ffff:127.0.0.1]',
      '[fd00::1]',
      '93.184.216.34',
    ])('http://%s is taken', async (host) => {
      const mediaUrl = `http://${host}/x`
      expect((await expectTaken({ mediaUrl }, allowing, owner)).media?.mediaUrl).toBe(mediaUrl)
    })

    test('with ALLOWED_PRIVATE_NETWORKS, which is for providers, all are still refused', async () => {
      const forProviders = await startTestService({ ALLOWED_PRIVATE_NETWORKS: '127.0.0.0/8' })
      const other = await buildAccount(forProviders)
      const answer = await post(forProviders, other, media({ mediaUrl: 'http://127.0.0.1/x' }))
      expectError(answer, 400, /^message\.media\.mediaUrl: contains an address that is not public/)
      await forProviders.stop()
    })

    test.each(['10.2.0.1', '[::1]', '[fd00:0:0:1::1]', '169.254.169.254', '0.0.0.0'])(
      'http://%s is still refused',
      async (host) => {
        const answer = await post(allowing, owner, media({ mediaUrl: `http://${host}/x` }))
        expectError(answer, 400, /^message\.media\.mediaUrl: /)
      },
    )
  })
})
