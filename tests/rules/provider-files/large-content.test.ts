import { expect, test } from 'vitest'
import { checkContext } from '../../../src/providers/files/check/context.ts'
import { compileFile } from '../../../src/providers/files/compile.ts'
import { textOf } from '../../../src/providers/shared/http/http-body.ts'
import { shippedFile, shippedText } from '../../../src/providers/shipped.ts'
import { buildDelivery } from '../../support/deliveries.ts'

test.each(['brevo', 'postmark', 'sendgrid'])(
  '%s encodes a large file while it is written, and not before',
  (name) => {
    const file = shippedFile(name)
    if (!file) throw new Error(name)
    const { provider, form } = file
    const delivery = buildDelivery(provider, provider.config.parse(form.examples.config))
    const mediaContent = Buffer.alloc(1024 * 1024, 'abc')
    const message = { type: 'media', media: { mediaType: 'document', sizeBytes: mediaContent.length } }
    const { body } = file.request({ ...delivery, message, mediaContent } as never, checkContext)
    expect(body).toMatchObject({ bytes: expect.any(Number) })
    const text = textOf(body)
    expect(JSON.stringify(JSON.parse(text))).toBe(text)
    expect(text).toContain(`"${mediaContent.toString('base64')}"`)
  },
)

test('base64 in a form, which would be a copy in memory, is a fault of the file', () => {
  const text = shippedText('mailgun').replace(
    /\n {2}multipart:\n/,
    '\n  multipart:\n    media: { $: media.base64 }\n',
  )
  const compiled = compileFile(text)
  expect('issues' in compiled && compiled.issues.join()).toContain('media.base64 can stand only in json')
})
