import { audited } from '../../../db/audit/record.ts'
import { cancelSend } from '../../../db/sends/cancel.ts'
import { sendCanceled } from '../../core/accounts/audit-details.ts'
import { mayHaveGotThrough } from '../../core/sends/doubt.ts'
import { buildTimeline, type SendRecord, type SendStatus } from '../../core/sends/timeline.ts'
import { cancelEnd, logEnd } from '../../sends/send-end.ts'
import { pageActor } from '../audit/page-actor.ts'
import { type AdminApp, type AdminRuntime, factory } from '../context.ts'
import { PageError } from '../errors.tsx'
import { Layout } from '../page/layout.tsx'
import { contactsSeen, showContact } from '../page/masking.ts'
import { allow } from '../people/allow.ts'
import { sendOf } from './find-send.ts'

const notCancelable = (status: SendStatus) =>
  new PageError(409, `It is ${status}: only a send that waits can be canceled.`)

/** Cancels a send that waits, as the command `cancel` does, after a confirmation page. */
export function cancel({ db, log, settings }: AdminRuntime): AdminApp {
  const app: AdminApp = factory.createApp()

  app.get('/', allow('support'), async (c) => {
    const { send, events } = await sendOf(db, c.req.param('requestId'))
    if (send.status !== 'queued') throw notCancelable(send.status)
    const isInDoubt = mayHaveGotThrough(buildTimeline(send, events, 'masked').events)
    const contact = showContact(send, contactsSeen(c, settings, { requestId: send.requestId }))
    return c.html(<ConfirmationPage {...{ send, contact, isInDoubt }} />)
  })

  app.post('/', allow('support'), async (c) => {
    const { send } = await sendOf(db, c.req.param('requestId'))
    const { requestId } = send
    const canceled = await audited(
      db,
      (transaction) => cancelSend(transaction, requestId),
      (canceled) => canceled?.isNew && { ...pageActor(c), ...sendCanceled(requestId, canceled.status) },
    )
    if (!canceled) throw notCancelable(send.status)
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
