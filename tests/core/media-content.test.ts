import { expect, test } from 'vitest'
import { contentFault as faultOf, recognise } from '../../src/core/media-content.ts'
import { type MediaType, mediaTypes } from '../../src/core/message.ts'
import { samples } from '../api/media-samples.ts'

const contentFault = async (mediaType: MediaType, content: Buffer) =>
  faultOf(mediaType, await recognise(content))

const everything = Object.keys(samples) as (keyof typeof samples)[]

test.each(everything)('%s passes as a document', async (name) => {
  expect(await contentFault('document', samples[name])).toBeUndefined()
})

test.each(['png', 'jpeg', 'gif', 'webp'] as const)(
  '%s passes as an image, not as sound or video',
  async (name) => {
    expect(await contentFault('image', samples[name])).toBeUndefined()
    for (const mediaType of ['audio', 'video'] as const) {
      expect(await contentFault(mediaType, samples[name])).toMatch(
        new RegExp(`can't be sent as ${mediaType}$`),
      )
    }
  },
)

test.each(['mp4', 'm4a', 'm4v', 'oggOpus', 'oggVorbis', 'oggTheora', 'oggOther', 'webm'] as const)(
  '%s, a container, passes as sound and as video',
  async (name) => {
    expect(await contentFault('audio', samples[name])).toBeUndefined()
    expect(await contentFault('video', samples[name])).toBeUndefined()
    expect(await contentFault('image', samples[name])).toMatch(/can't be sent as image$/)
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
  expect(await contentFault(mediaType, samples[name])).toMatch(
    new RegExp(`^is [a-z]+/\\S+, which can't be sent as ${mediaType}$`),
  )
})

test('what is not recognised passes, but for an image', async () => {
  for (const content of [samples.plainText, Buffer.from([0]), Buffer.alloc(5000), Buffer.from('RIFF')]) {
    expect(await contentFault('audio', content)).toBeUndefined()
    expect(await contentFault('video', content)).toBeUndefined()
    expect(await contentFault('image', content)).toBe('is not recognised as an image')
  }
})

test('a file that is cut off anywhere is judged without a crash', async () => {
  for (const name of everything) {
    for (let length = 1; length < samples[name].length; length += 7) {
      for (const mediaType of mediaTypes) {
        const fault = await contentFault(mediaType, samples[name].subarray(0, length))
        expect(fault === undefined || typeof fault === 'string').toBe(true)
      }
    }
  }
})
