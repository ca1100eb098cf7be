import { describe, expect, test } from 'vitest'
import { recognise } from '../../../../src/core/messages/media-content.ts'
import { mimetypeIssue } from '../../../../src/core/messages/mimetype-issue.ts'
import { samples } from '../../../support/media-samples.ts'

const faultOf = async (declared: string, content: Buffer) => mimetypeIssue(declared, await recognise(content))

test.each([
  ['png', 'image/jpeg', 'image/png'],
  ['png', 'Image/JPG; q=1', 'image/png'],
  ['png', 'image/webp', 'image/png'],
  ['png', 'image/svg+xml', 'image/png'],
  ['png', 'application/pdf', 'image/png'],
  ['png', 'text/plain; charset=utf-8', 'image/png'],
  ['jpeg', 'image/png', 'image/jpeg'],
  ['jpeg', 'video/mp4', 'image/jpeg'],
  ['pdf', 'application/msword', 'application/pdf'],
  ['pdf', 'text/html', 'application/pdf'],
  ['pdf', 'application/vnd.openxmlformats-officedocument.wordprocessingml.document', 'application/pdf'],
  ['zip', 'application/pdf', 'application/zip'],
  ['zip', 'image/png', 'application/zip'],
  ['mp3', 'audio/ogg', 'audio/mpeg'],
  ['mp3', 'audio/mp4', 'audio/mpeg'],
  ['wav', 'audio/mpeg', 'audio/wav'],
  ['avi', 'video/mp4', 'video/vnd.avi'],
  ['webm', 'video/mp4', 'video/webm'],
  ['m4a', 'audio/mp3', 'audio/x-m4a'],
  ['oggOpus', 'audio/mpeg', 'audio/ogg'],
] as const)('%s that is declared as %s is refused, and the fault names both', async (name, declared, is) => {
  expect(await faultOf(declared, samples[name])).toBe(
    `is ${declared}, but the content is recognised as ${is}: leave mimetype out, or make it match the content`,
  )
})

describe('names of one format do not contradict each other', () => {
  test.each([
    ['png', ['image/png', 'image/x-png', 'image/apng']],
    ['jpeg', ['image/jpeg', 'image/jpg', 'image/pjpeg', 'IMAGE/JPEG; q=1']],
    ['pdf', ['application/pdf', 'application/x-pdf']],
    ['mp3', ['audio/mpeg', 'audio/mp3', 'audio/x-mp3']],
    ['wav', ['audio/wav', 'audio/x-wav', 'audio/wave', 'audio/vnd.wave']],
    ['avi', ['video/vnd.avi', 'video/x-msvideo', 'video/avi']],
    [
      'mp4',
      ['video/mp4', 'audio/mp4', 'audio/x-m4a', 'video/x-m4v', 'video/quicktime', 'video/3gpp', 'audio/aac'],
    ],
    ['m4a', ['audio/x-m4a', 'audio/m4a', 'audio/mp4', 'video/mp4', 'audio/aac', 'audio/mp4a-latm']],
    ['oggOpus', ['audio/ogg; codecs=opus', 'audio/ogg', 'audio/opus', 'video/ogg', 'application/ogg']],
    ['oggVorbis', ['audio/vorbis', 'audio/ogg']],
    ['webm', ['video/webm', 'audio/webm', 'video/x-matroska']],
  ] as const)('%s', async (name, declared) => {
    for (const type of declared) expect(await faultOf(type, samples[name]), type).toBeUndefined()
  })
})

describe('what is not sure passes', () => {
  const office = Buffer.concat([
    Buffer.from([0xd0, 0xcf, 0x11, 0xe0, 0xa1, 0xb1, 0x1a, 0xe1]),
    Buffer.alloc(600),
  ])

  test.each([
    ['content that is not recognised', 'image/png', samples.plainText],
    [
      'a docx recognised as a zip',
      'application/vnd.openxmlformats-officedocument.wordprocessingml.document',
      samples.zip,
    ],
    ['a package of a kind of its own', 'application/vnd.acme.package', samples.zip],
    ['a format of its own within PDF', 'application/illustrator', samples.pdf],
    ['a doc recognised as a compound file', 'application/msword', office],
    ['a doc that is RTF', 'application/msword', Buffer.from('{\\rtf1 Hello}')],
    ['a text that begins like a bitmap', 'text/plain', Buffer.from('BMW, a list of prices')],
    ['an SVG recognised as XML', 'image/svg+xml', samples.svg],
    ['any bytes', 'application/octet-stream', samples.png],
  ])('%s', async (_what, declared, content) => {
    expect(await faultOf(declared, content)).toBeUndefined()
  })
})
