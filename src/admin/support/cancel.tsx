import { audited } from '../../../db/audit/record.ts'
import { cancelSend } from '../../../db/sends/cancel.ts'
import { findSend } from '../../../db/sends/sends.ts'
import { sendCanceled } from '../../core/accounts/audit-details.ts'
import { canBeRecordId } from '../../core/requests/record-id.ts'
import { mayHaveGotThrough } from '../../core/sends/doubt.ts'
import { buildTimeline, type SendRecord, type SendStatus } from '../../core/sends/timeline.ts'
import { cancelEnd, logEnd } from '../../sends/send-end.ts'
import { pageActor } from '../audit/page-actor.ts'
import { type AdminApp, type AdminRuntime, factory } from '../context.ts'
import { PageError } from '../errors.tsx'
import { Layout } from '../page/layout.tsx'
import { contactsSeen, showContact } from '../page/masking.ts'
import { allow } from '../people/allow.ts'

const notFound = () =>
  new PageError(404, 'There is no such send: it was never accepted, or is no longer kept.')
const notCancelable = (status: SendStatus) =>
  new PageError(409, `It is ${status}: only a send that waits can be canceled.`)

/** Cancels a send that waits, as the command `cancel` does, after a confirmation page. */
export function cancel({ db, log, settings }: AdminRuntime): AdminApp {
  const app: AdminApp = factory.createApp()

  app.get('/', allow('support'), async (c) => {
    const requestId = c.req.param('requestId') ?? ''
    const found = canBeRecordId(requestId) ? await findSend(db, requestId) : undefined
    if (!found) throw notFound()
    if (found.send.status !== 'queued') throw notCancelable(found.send.status)
    const isInDoubt = mayHaveGotThrough(buildTimeline(found.send, found.events, 'masked').events)
    const contact = showContact(found.send, contactsSeen(c, settings, { requestId }))
    return c.html(<ConfirmationPage send={found.send} {...{ contact, isInDoubt }} />)
  })

  app.post('/', allow('support'), async (c) => {
    const requestId = c.req.param('requestId') ?? ''
    const canceled = canBeRecordId(requestId)
      ? await audited(
          db,
          (transaction) => cancelSend(transaction, requestId),
          (canceled) => canceled?.isNew && { ...pageActor(c), ...sendCanceled(requestId, canceled.status) },
        )
      : undefined
    if (!canceled) throw notFound()
    const { status, isNew } = canceled
    if (isNew) logEnd(log, cancelEnd(requestId, canceled, { by: c.get('person').name }))
    else if (status !== 'canceled') throw notCancelable(status)
    return c.redirect(`/support/${requestId}`, 303)
  })
  return app
}

interface ConfirmationProps {
  send: SendRecord
  contact: string
  isInDoubt: boolean
}

function ConfirmationPage({ send: { requestId, messageType }, contact, isInDoubt }: ConfirmationProps) {
  return (
    <Layout title="Cancel?" at="/sends">
      <section class="verdict unsure">
        <h1>Cancel this {messageType}?</h1>
        <p>It is to go to {contact}. Once canceled, it can't be sent again.</p>
        {isInDoubt && (
          <p>
            <strong>The contact may get it all the same:</strong> it is unknown whether the provider already
            has it. It will be uncertain, and not be tried again.
          </p>
        )}
        <p class="id">{requestId}</p>
        <form method="post" action={`/support/${requestId}/cancel`} class="row">
          <button type="submit" class="main danger">
            Cancel the send
          </button>
          <a class="button" href={`/support/${requestId}`}>
            Leave it as it is
          </a>
        </form>
      </section>
    </Layout>
  )
}
