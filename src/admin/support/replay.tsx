import { findProvider } from '../../../db/accounts/channels.ts'
import { audited } from '../../../db/audit/record.ts'
import { replaySend } from '../../../db/sends/replays.ts'
import { mayBeReplayed, wasCanceled } from '../../core/explanation/explain.ts'
import { mayHaveGotThrough } from '../../core/sends/doubt.ts'
import { isPastOwnExpiry, pastOwnExpiry } from '../../core/sends/own-expiry.ts'
import { buildTimeline, type SendRecord } from '../../core/sends/timeline.ts'
import { logEvent } from '../../platform/log/logger.ts'
import { pageActor } from '../audit/page-actor.ts'
import { type AdminApp, type AdminRuntime, factory } from '../context.ts'
import { PageError } from '../errors.tsx'
import { Layout } from '../page/layout.tsx'
import { contactsSeen, showContact } from '../page/masking.ts'
import { allow } from '../people/allow.ts'
import { sendOf } from './find-send.ts'

/** Replays a failed or uncertain send, as the command `replay` does, after a confirmation page. */
export function replay({ db, log, settings }: AdminRuntime): AdminApp {
  const app: AdminApp = factory.createApp()

  app.get('/', allow('support'), async (c) => {
    const { send, events } = await sendOf(db, c.req.param('requestId'))
    const { requestId } = send
    if (!canBeReplayed(send) || isPastOwnExpiry(send) || !(await hasChannel(send)))
      throw await refusalOf(send)
    const mayBeSecond = mayHaveGotThrough(buildTimeline(send, events, 'masked').events)
    const contact = showContact(send, contactsSeen(c, settings, { requestId }))
    return c.html(<ConfirmationPage {...{ send, contact, mayBeSecond }} />)
  })

  app.post('/', allow('support'), async (c) => {
    const { requestId } = (await sendOf(db, c.req.param('requestId'))).send
    const isReplayed = await audited(
      db,
      (transaction) => replaySend(transaction, requestId),
      (isReplayed) => isReplayed && { ...pageActor(c), action: 'send.replay', target: requestId },
    )
    if (!isReplayed) throw await refusalOf((await sendOf(db, requestId)).send)
    logEvent(log, requestId, 'replayed', { by: c.get('person').name })
    return c.redirect(`/support/${requestId}`, 303)
  })

  const hasChannel = async ({ channelId, sentThrough }: SendRecord) =>
    (await findProvider(db, sentThrough ?? channelId)) !== undefined

  const refusalOf = async (send: SendRecord) =>
    canBeReplayed(send) && !(await hasChannel(send))
      ? new PageError(409, 'Its channel was deleted. Send a new message by another channel instead.')
      : refusal(send)
  return app
}

const canBeReplayed = ({ status, failure }: SendRecord) => mayBeReplayed({ status, reason: failure })

function refusal(send: SendRecord): PageError {
  if (wasCanceled({ status: send.status, reason: send.failure }))
    return new PageError(409, 'It was canceled. Send a new message instead.')
  if (canBeReplayed(send) && isPastOwnExpiry(send)) return new PageError(409, `${pastOwnExpiry('it')}.`)
  switch (send.status) {
    case 'sent':
      return new PageError(409, 'It was sent: a replay would send it twice. Send a new message instead.')
    case 'queued':
    case 'sending':
      return new PageError(409, 'It has not ended yet, so there is nothing to replay.')
    case 'canceled':
    case 'failed':
    case 'uncertain':
      return new PageError(
        409,
        'Its media is no longer kept, so it cannot be replayed. Send a new message instead.',
      )
  }
}

interface ConfirmationProps {
  send: SendRecord
  contact: string
  mayBeSecond: boolean
}

function ConfirmationPage({ send, contact, mayBeSecond }: ConfirmationProps) {
  const { requestId, status, messageType, failure } = send
  return (
    <Layout title="Replay?" at="/sends">
      <section class="verdict unsure">
        <h1>Send this {messageType} again?</h1>
        <p>
          It goes to {contact}, by the same channel, with a new series of attempts. It is {status}
          {failure !== null && `: ${failure}`}.
        </p>
        {mayBeSecond && (
          <p>
            <strong>The contact may get it twice:</strong> it is unknown whether the provider already has it.
          </p>
        )}
        <p class="id">{requestId}</p>
        <form method="post" action={`/support/${requestId}/replay`} class="row">
          <button type="submit" class="main">
            Replay
          </button>
          <a class="button" href={`/support/${requestId}`}>
            Leave it as it is
          </a>
        </form>
      </section>
    </Layout>
  )
}
