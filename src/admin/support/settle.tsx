import { audited } from '../../../db/audit/record.ts'
import { settleSend } from '../../../db/sends/settle.ts'
import { sendSettled } from '../../core/accounts/audit-details.ts'
import { contactInReason } from '../../core/contacts/names-contact.ts'
import type { SendRecord, SendStatus } from '../../core/sends/timeline.ts'
import { logEvent } from '../../platform/log/logger.ts'
import { logEnd } from '../../sends/send-end.ts'
import { pageActor } from '../audit/page-actor.ts'
import { type AdminApp, type AdminRuntime, factory } from '../context.ts'
import { PageError } from '../errors.tsx'
import { Layout } from '../page/layout.tsx'
import { ReasonField, reasonOf } from '../page/reason.tsx'
import { allow } from '../people/allow.ts'
import { sendOf } from './find-send.ts'
import { fieldsOf } from './form-fields.ts'

const notUncertain = (status: SendStatus) =>
  new PageError(409, `It is ${status}: only an uncertain send can be settled.`)

/** Settles an uncertain send, as the command `settle` does: a person has looked at the provider. */
export function settle({ db, log }: AdminRuntime): AdminApp {
  const app: AdminApp = factory.createApp()

  app.get('/', allow('support'), async (c) => {
    const { send } = await sendOf(db, c.req.param('requestId'))
    if (send.status !== 'uncertain') throw notUncertain(send.status)
    return c.html(<SettlePage send={send} />)
  })

  app.post('/', allow('support'), async (c) => {
    const requestId = c.req.param('requestId') ?? ''
    const { as } = await fieldsOf(c)
    if (as !== 'sent' && as !== 'failed')
      throw new PageError(400, 'Choose whether the provider has the message.')
    const reason = await reasonOf(c)
    const fault = contactInReason(reason, (await sendOf(db, requestId)).send.contactValue)
    if (fault !== undefined) throw new PageError(400, `${fault}.`)
    const settled = await audited(
      db,
      (transaction) => settleSend(transaction, requestId, as, reason),
      (settled) => settled && { ...pageActor(c), ...sendSettled(requestId, as, reason) },
    )
    if (!settled) throw notUncertain((await sendOf(db, requestId)).send.status)
    logEvent(log, requestId, 'settled', { as, reason, by: c.get('person').name })
    logEnd(log, { requestId, status: as, fields: as === 'failed' ? { reason: settled.reason } : {} })
    return c.redirect(`/support/${requestId}`, 303)
  })
  return app
}

function SettlePage({ send: { requestId, messageType, failure } }: { send: SendRecord }) {
  return (
    <Layout title="Settle?" at="/sends">
      <section class="verdict unsure">
        <h1>Does the provider have this {messageType}?</h1>
        <p>
          It is uncertain{failure !== null && `: ${failure}`}. Look for it at the provider first. Its client
          gets a callback, and nothing is sent by this. One that failed can be replayed.
        </p>
        <p class="id">{requestId}</p>
        <form method="post" action={`/support/${requestId}/settle`}>
          <p class="choice">
            <input id="sent" name="as" type="radio" value="sent" required />
            <label for="sent">The provider has it: sent</label>
          </p>
          <p class="choice">
            <input id="failed" name="as" type="radio" value="failed" required />
            <label for="failed">The provider doesn't have it: failed</label>
          </p>
          <ReasonField />
          <button type="submit" class="main">
            Settle
          </button>
        </form>
        <p>
          <a class="button" href={`/support/${requestId}`}>
            Leave it as it is
          </a>
        </p>
      </section>
    </Layout>
  )
}
