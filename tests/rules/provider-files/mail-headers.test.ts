import { expect, test } from 'vitest'
import { sendIssue } from '../../../src/core/sends/send-issue.ts'
import { checkFile } from '../../../src/providers/files/check/check-file.ts'
import { checkContext } from '../../../src/providers/files/check/context.ts'
import { compileFile } from '../../../src/providers/files/compile.ts'
import { shippedText } from '../../../src/providers/shipped.ts'
import { buildDelivery } from '../../support/deliveries.ts'

const brevo = shippedText('brevo')
const more = '{ X-Mailin-custom: { $: requestId } }'

function mailWith(headers: Record<string, string>, text = brevo) {
  const file = compileFile(text)
  if ('issues' in file) throw new Error(file.issues.join())
  const { provider, form } = file
  const delivery = buildDelivery(provider, provider.config.parse(form.examples.config))
  const message = { ...delivery.message, email: { headers } }
  const { headers: sent } = JSON.parse(
    String(file.request({ ...delivery, message } as never, checkContext).body),
  )
  return {
    issue: sendIssue(provider, { contact: delivery.contact, message, hasPublicUrl: true }),
    sent,
    requestId: delivery.requestId,
  }
}

test.each(['X-Mailin-custom', 'x-mailin-CUSTOM'])(
  'a header %s of a client is a 400 where the file sets it, and never stands beside that of the file',
  (name) => {
    const { issue, sent, requestId } = mailWith({ [name]: 'mine', 'X-Other': 'yours' })
    expect(issue).toBe(`email.headers.${name}: is set by the channel; leave it out`)
    expect(sent).toEqual({
      'Auto-Submitted': 'auto-generated',
      'X-Other': 'yours',
      'X-Mailin-custom': requestId,
    })
  },
)

test('other headers of a client are sent', () => {
  const { issue, sent } = mailWith({ 'X-Other': 'yours' })
  expect(issue).toBeUndefined()
  expect(sent).toMatchObject({ 'X-Other': 'yours' })
})

test('a header of the file wins over one that every mail has, in any case of its letters', () => {
  const { sent } = mailWith(
    {},
    brevo.replace(more, '{ auto-submitted: "no", X-Mailin-custom: { $: requestId } }'),
  )
  expect(sent).toMatchObject({ 'auto-submitted': 'no' })
  expect(sent).not.toHaveProperty('Auto-Submitted')
})

test.each([
  ['more that is no object', brevo.replace(more, '{ $: requestId }')],
  ['more beside a list', brevo.replace('$headers: map', '$headers: [Name, Value]')],
])('%s is one clear line', async (_, text) => {
  expect(text).not.toBe(brevo)
  expect(await checkFile(text)).toEqual({
    issues: [
      expect.stringMatching(
        /^line \d+: \/request\/json\/headers: more has to be an object of names and values, beside map$/,
      ),
    ],
  })
})
