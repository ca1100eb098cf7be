import { findCallbacksOfSend, type ShownCallback } from '../../../db/callbacks/shown-callbacks.ts'
import { type AdminApp, type AdminRuntime, factory } from '../context.ts'
import { CallbackTable } from '../endpoints/callback-table.tsx'
import { Layout } from '../page/layout.tsx'
import { allow } from '../people/allow.ts'
import { sendOf } from './find-send.ts'
import { SendTabs } from './send-tabs.tsx'

/** The callbacks of a send. */
export function callbacksOfSend({ db }: AdminRuntime): AdminApp {
  const app: AdminApp = factory.createApp()
  app.get('/', allow('reader'), async (c) => {
    const { requestId } = (await sendOf(db, c.req.param('requestId'))).send
    return c.html(
      <CallbacksPage requestId={requestId} callbacks={await findCallbacksOfSend(db, [requestId])} />,
    )
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
            <p>
              To repeat them, run: <code>outbound callback redeliver {requestId}</code>
            </p>
          </>
        )}
      </section>
    </Layout>
  )
}
