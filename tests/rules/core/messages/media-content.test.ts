import { expect, test } from 'vitest'
import {
  contentTypeAs,
  contentIssue as faultOf,
  recognise,
  typeToSend,
  withCommonName,
} from '../../../../src/core/messages/media-content.ts'
import { type MediaType, mediaTypes } from '../../../../src/core/messages/message.ts'
import { samples } from '../../../support/media-samples.ts'

const contentIssue = async (mediaType: MediaType, content: Buffer) =>
  faultOf(mediaType, await recognise(content))

const everything = Object.keys(samples) as (keyof typeof samples)[]

test.each(everything)('%s passes as a document', async (name) => {
  expect(await contentIssue('document', samples[name])).toBeUndefined()
})

test.each(['png', 'jpeg', 'gif', 'webp'] as const)(
  '%s passes as an image, not as sound or video',
  async (name) => {
    expect(await contentIssue('image', samples[name])).toBeUndefined()
    for (const mediaType of ['audio', 'video'] as const) {
      expect(await contentIssue(mediaType, samples[name])).toMatch(
        new RegExp(`can't be sent as ${mediaType}$`),
      )
    }
  },
)

test.each(['mp4', 'm4a', 'm4v', 'oggOpus', 'oggVorbis', 'oggTheora', 'oggOther', 'webm'] as const)(
  '%s, a container, passes as sound and as video',
  async (name) => {
    expect(await contentIssue('audio', samples[name])).toBeUndefined()
    expect(await contentIssue('video', samples[name])).toBeUndefined()
    expect(await contentIssue('image', samples[name])).toMatch(/can't be sent as image$/)
  },
)

test.each([
  ['mp3', 'video'],
  ['wav', 'video'],
  ['avi', 'audio'],
  ['pdf', 'image'],
  ['pdf', 'audio'],
  ['zip', 'video'],
] as const)('%s does not pass as %s, and the fault names what it is', async (name, mediaType) => {
  expect(await contentIssue(mediaType, samples[name])).toMatch(
    new RegExp(`^is [a-z]+/\\S+, which can't be sent as ${mediaType}$`),
  )
})

test('content that is not recognised passes, except as an image', async () => {
  for (const content of [samples.plainText, Buffer.from([0]), Buffer.alloc(5000), Buffer.from('RIFF')]) {
    expect(await contentIssue('audio', content)).toBeUndefined()
    expect(await contentIssue('video', content)).toBeUndefined()
    expect(await contentIssue('image', content)).toBe('is not recognised as an image')
  }
})

test('a truncated file is checked without a crash', async () => {
  for (const name of everything) {
    for (let length = 1; length < samples[name].length; length += 7) {
      for (const mediaType of mediaTypes) {
        const fault = await contentIssue(mediaType, samples[name].subarray(0, length))
        expect(fault === undefined || typeof fault === 'string').toBe(true)
      }
    }
  }
})

test.each([
  ['image', 'image/jpg', 'image/jpeg'],
  ['image', 'Image/JPG; q=1', 'image/jpeg'],
  ['document', 'image/x-png', 'image/png'],
  ['document', 'application/x-pdf', 'application/pdf'],
  ['audio', 'audio/mp3', 'audio/mpeg'],
  ['audio', 'audio/x-wav', 'audio/wav'],
  ['audio', 'audio/x-m4a', 'audio/mp4'],
  ['audio', 'video/mp4 ; codecs="mp4a"', 'audio/mp4'],
  ['audio', 'audio/ogg; codecs=opus', 'audio/ogg'],
  ['video', 'video/3gp', 'video/3gpp'],
  ['document', 'video/mp4', 'video/mp4'],
] as const)('sent as %s, %s is %s', (mediaType, given, type) => {
  expect(contentTypeAs(mediaType, given)).toBe(type)
})

test.each([
  ['audio', 'audio/mp4a-latm'],
  ['video', 'video/mp4v-es'],
  ['video', 'video/oggs'],
  ['image', 'image/jpgx'],
  ['image', 'image/jp2'],
] as const)('sent as %s, a type that is another one by a letter stays what it is: %s', (mediaType, type) => {
  expect(contentTypeAs(mediaType, type)).toBe(type)
})

test('bytes that only begin like a container are none', () => {
  expect(faultOf('audio', 'video/mp4v-es')).toMatch(/can't be sent as audio$/)
  expect(faultOf('video', 'audio/ogg; codecs=opus')).toBeUndefined()
})

test('the common name of a type has the parameters of the other', () => {
  expect(withCommonName('image/JPG; q=1')).toBe('image/jpeg; q=1')
  expect(withCommonName('text/plain; name=image/jpg')).toBe('text/plain; name=image/jpg')
})

test('a document that is recognised as what Office files come in has no type of its own', async () => {
  expect(typeToSend('document', [], await recognise(samples.zip))).toBeUndefined()
  expect(typeToSend('document', [], 'application/x-cfb')).toBeUndefined()
  expect(typeToSend('document', [], await recognise(samples.pdf))).toBe('application/pdf')
  expect(typeToSend('audio', [], await recognise(samples.mp4))).toBe('audio/mp4')
})

test.each([
  'application/octet-stream',
  'Application/Octet-Stream; charset=utf-8',
  'binary/octet-stream',
  'application/x-octet-stream',
  'application/octetstream',
  'application/binary',
  'application/download',
  'application/x-download',
  'application/force-download',
  'application/x-force-download',
  'application/unknown',
  'application/x-unknown',
  'unknown/unknown',
  'content/unknown',
  'application/octet',
  'application/x-unknown-content-type',
  'application/x-www-form-urlencoded',
  '*/*',
  'application/save',
  'application/save-as',
  'application/x-forcedownload',
  'application/x-msdownload',
  'application/file',
  'application/x-file',
  'application/x-empty',
  'file/unknown',
  'image/unknown',
  'image/x-unknown',
  'data/unknown',
  'multipart/form-data; boundary=b',
  'type/subtype',
])('a type that says nothing gives way to the recognised one: %s', (type) => {
  expect(typeToSend('image', [type], 'image/png')).toBe('image/png')
  expect(typeToSend('document', [type, 'text/csv'], undefined)).toBe('text/csv')
  expect(typeToSend('document', [type], undefined)).toBeUndefined()
})

test.each(['application/octet-stream-x', 'text/unknown', 'application/x-downloader', 'image/png'])(
  'a type that says what it is stays: %s',
  (type) => expect(typeToSend('document', [type], 'application/pdf')).toBe(type),
)
