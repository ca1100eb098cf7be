import { ann, defineEmulation, onePixelPng, sentAtOnce } from '../../shared/dev/emulation.ts'
import { startTwilioEmulator } from './emulator.ts'

export const emulation = defineEmulation({
  start: () => startTwilioEmulator({ fetchesMedia: true, reports: true }),
  template: { contentSid: `HX${'0d'.repeat(16)}`, variables: { 1: 'name' } },
  examples: ({ calls, fetched }) => [
    {
      ...sentAtOnce,
      title: 'Media, fetched from this service, by twilio',
      contact: ann,
      message: {
        type: 'media',
        media: { mediaType: 'image', base64: onePixelPng, filename: 'dot.png', caption: 'A dot from Twilio' },
      },
      received(requestId) {
        const call = calls.find(({ form }) => form.MediaUrl?.includes(requestId))
        const media = fetched.find(({ url, method }) => method === 'GET' && url.includes(requestId))
        if (!call || media?.status !== 200) return undefined
        return `To=${call.form.To} Body=${call.form.Body}, and fetched ${media.content.length} bytes of ${media.contentType}`
      },
    },
  ],
})
