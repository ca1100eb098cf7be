import { ann, defineEmulation, onePixelPng, sentAtOnce } from '../../shared/dev/emulation.ts'

/** It calls no server, so there is none to emulate. */
export const emulation = defineEmulation({
  template: { text: 'Hello {{name}}' },
  examples: () => [
    {
      title: 'A text',
      contact: ann,
      message: { type: 'text', text: { value: 'Hello Ann' } },
      ...sentAtOnce,
    },
    {
      title: 'A template',
      contact: { value: 'ann@example.com', type: 'email' },
      message: {
        type: 'template',
        template: { name: 'welcome', variables: [{ key: 'name', value: 'Ann' }] },
      },
      ...sentAtOnce,
    },
    {
      title: 'Media, after closing the open conversation',
      contact: { value: '+49 151 12345678' },
      message: {
        type: 'media',
        media: { mediaType: 'image', base64: onePixelPng, filename: 'dot.png', caption: 'A dot' },
        closeConversation: true,
      },
      ...sentAtOnce,
    },
    {
      title: 'A text that goes through at the third attempt',
      contact: { value: '+1 555 010 0102' },
      message: { type: 'text', text: { value: 'Third time lucky' } },
      ends: 'sent',
      attempts: 3,
    },
    {
      title: 'A text that the provider refuses',
      contact: { value: '+1 555 010 0103' },
      message: { type: 'text', text: { value: 'Nobody will read this' } },
      ends: 'failed',
      attempts: 1,
    },
  ],
})
