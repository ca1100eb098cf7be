import { audited } from '../../../db/audit/record.ts'
import { findScheduledContent, rescheduleSend } from '../../../db/sends/reschedule.ts'
import { type Contact, contactIssue, parseContact, wholeContact } from '../../core/contacts/contact.ts'
import { smsSizeOf } from '../../core/messages/segments.ts'
import { unreachableIssue } from '../../core/sends/send-issue.ts'
import type { SendRecord, SendStatus } from '../../core/sends/timeline.ts'
import { logEvent } from '../../platform/log/logger.ts'
import { providerOf } from '../../providers/known.ts'
import { pageActor } from '../audit/page-actor.ts'
import { type AdminApp, type AdminRuntime, factory } from '../context.ts'
import { PageError } from '../errors.tsx'
import { TextField } from '../page/fields.tsx'
import { Moment } from '../page/inline-elements.tsx'
import { Layout } from '../page/layout.tsx'
import { contactsSeen, showContact } from '../page/masking.ts'
import { allow } from '../people/allow.ts'
import { sendOf } from './find-send.ts'
import { fieldsOf } from './form-fields.ts'

const notMovable = (status: SendStatus) =>
  new PageError(
    409,
    `It is ${status === 'queued' ? 'due' : status}: only a send that waits for its time takes another contact.`,
  )

/** Gives a scheduled send another contact, as `PATCH /v1/messages/:requestId` does. */
export function move({ db, log, settings }: AdminRuntime): AdminApp {
  const app: AdminApp = factory.createApp()

  app.get('/', allow('operator'), async (c) => {
    const { send } = await sendOf(db, c.req.param('requestId'))
    if (!(await findScheduledContent(db, send.requestId))) throw notMovable(send.status)
    const contact = showContact(send, contactsSeen(c, settings, { requestId: send.requestId }))
    return c.html(<MovePage send={send} contact={contact} />)
  })

  app.post('/', allow('operator'), async (c) => {
    const { send } = await sendOf(db, c.req.param('requestId'))
    const { requestId, status, contactType, contactValue } = send
    const contact = contactIn((await fieldsOf(c)).contact)
    const content = await findScheduledContent(db, requestId)
    if (!content) throw notMovable(status)
    // The form was sent twice.
    const isSame = contact.type === contactType && contact.value === contactValue
    if (isSame) return c.redirect(`/support/${requestId}`, 303)
    const rules = providerOf(content.provider)
    const issue = unreachableIssue(rules, contact, content.message, content.countries)
    if (issue) throw new PageError(400, `${issue}.`)
    const sms = smsSizeOf(rules, contact, content.message)
    const moved = await audited(
      db,
      (transaction) => rescheduleSend(transaction, { requestId, contact, sms }),
      (moved) => moved && { ...pageActor(c), action: 'send.move', target: requestId },
    )
    if (!moved) throw notMovable((await sendOf(db, requestId)).send.status)
    logEvent(log, requestId, 'scheduled', { sendAt: moved.sendAt.toISOString() })
    log.info({ event: 'send_moved', requestId, by: c.get('person').name })
    return c.redirect(`/support/${requestId}`, 303)
  })
  return app
}

/** Read as at the accept. */
function contactIn(field: unknown): Contact {
  const text = typeof field === 'string' ? field.trim() : ''
  const contact = parseContact(text)
  if (contact) return contact
  throw new PageError(400, `Contact: ${contactIssue(text)}.`)
}

function MovePage({ send: { requestId, messageType, sendAt }, contact }: MovePageProps) {
  return (
    <Layout title="Another contact?" at="/sends">
      <section class="verdict waiting">
        <h1>Who is to get this {messageType}?</h1>
        <p>
          It is to go to {contact}
          {sendAt && (
            <>
              {' '}
              at <Moment at={sendAt} />
            </>
          )}
          . Channel, content and time stay as they are.
        </p>
        <p class="id">{requestId}</p>
        <form method="post" action={`/support/${requestId}/move`} class="fields one">
          <TextField name="contact" label="New contact" hint={wholeContact} required />
          <p class="row">
            <button type="submit" class="main">
              Move
            </button>
            <a class="button" href={`/support/${requestId}`}>
              Leave it as it is
            </a>
          </p>
        </form>
      </section>
    </Layout>
  )
}

interface MovePageProps {
  send: SendRecord
  /** The present one. */
  contact: string
}
