import { audited } from '../../../db/audit/record.ts'
import { resendOfSend } from '../../../db/callbacks/resends.ts'
import { findCallbacksOfSend, type ShownCallback } from '../../../db/callbacks/shown-callbacks.ts'
import { pageActor } from '../audit/page-actor.ts'
import { type AdminApp, type AdminRuntime, factory } from '../context.ts'
import { CallbackTable } from '../endpoints/callback-table.tsx'
import { ForRole } from '../page/for-role.tsx'
import { Layout } from '../page/layout.tsx'
import { allow } from '../people/allow.ts'
import { sendOf } from './find-send.ts'
import { SendTabs } from './send-tabs.tsx'

/** The callbacks of a send. */
export function callbacksOfSend({ db, log }: AdminRuntime): AdminApp {
  const app: AdminApp = factory.createApp()
  app.get('/', allow('reader'), async (c) => {
    const { requestId } = (await sendOf(db, c.req.param('requestId'))).send
    return c.html(
      <CallbacksPage requestId={requestId} callbacks={await findCallbacksOfSend(db, [requestId])} />,
    )
  })

  app.post('/', allow('support'), async (c) => {
    const { requestId } = (await sendOf(db, c.req.param('requestId'))).send
    const row = { ...pageActor(c), action: 'send.resend_callbacks', target: requestId } as const
    const resent = await audited(
      db,
      (transaction) => resendOfSend(transaction, { requestId }),
      (resent) => ({ ...row, details: { resent } }),
    )
    log.info({ event: 'send_callbacks_resent', requestId, resent, by: c.get('person').name })
    return c.redirect(`/support/${requestId}/callbacks`, 303)
  })
  return app
}

function CallbacksPage({ requestId, callbacks }: { requestId: string; callbacks: readonly ShownCallback[] }) {
  return (
    <Layout title={`Callbacks ${requestId}`} at="/sends">
      <SendTabs requestId={requestId} at="callbacks" />
      <section aria-labelledby="callbacks">
        <h1 id="callbacks">Callbacks</h1>
        <p class="id">{requestId}</p>
        {callbacks.length === 0 ? (
          <p>
            Nothing: its account has no endpoint that takes its changes, it has not changed yet, or its
            callbacks are no longer kept.
          </p>
        ) : (
          <>
            <CallbackTable callbacks={callbacks} of="send" />
            <ForRole who="support">
              <form method="post" action={`/support/${requestId}/callbacks`} class="row">
                <button type="submit">Send them again</button>
                <span class="muted">
                  Those that have ended are called once more, with the same webhook-id.
                </span>
              </form>
            </ForRole>
          </>
        )}
      </section>
    </Layout>
  )
}
