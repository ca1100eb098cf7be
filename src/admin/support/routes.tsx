import type { Context } from 'hono'
import { pageOfAudit } from '../../../db/audit/list.ts'
import { findExplanation } from '../../../db/sends/explanation.ts'
import { sameContentNear } from '../../../db/sends/same-content.ts'
import { findSendContext } from '../../../db/sends/send-context.ts'
import { explain } from '../../core/explanation/explain.ts'
import { readKeptMessage } from '../../core/messages/kept-message.ts'
import { canBeRecordId } from '../../core/requests/record-id.ts'
import { findRequestId } from '../../core/requests/request-id.ts'
import { buildTimeline } from '../../core/sends/timeline.ts'
import { changesShown } from '../audit/history.tsx'
import { type AdminApp, type AdminEnv, type AdminRuntime, factory } from '../context.ts'
import { formLimit } from '../http/form-limit.ts'
import { htmlOfMail } from '../page/html-of-mail.ts'
import { contactsSeen, seesContent } from '../page/masking.ts'
import { allow } from '../people/allow.ts'
import { box } from './box.tsx'
import { callbacksOfSend } from './callbacks-page.tsx'
import { cancel } from './cancel.tsx'
import { fieldsOf } from './form-fields.ts'
import { formerSearch } from './former-search.ts'
import { move } from './move.tsx'
import { replay } from './replay.tsx'
import { SendPage } from './send-page.tsx'
import { settle } from './settle.tsx'
import { SupportPage } from './support-page.tsx'
import { suppressedSend } from './suppressed.tsx'

export const refreshSeconds = 3

/** The support pages: find a send and see its timeline (docs/how-to/find-a-send.md). */
export function support(runtime: AdminRuntime): AdminApp {
  const app: AdminApp = factory.createApp()
  const find = box(runtime)
  const textIn = (field: unknown) => (typeof field === 'string' ? field : '')

  app.use(formLimit)
  app.get('/', allow('reader'), (c) => {
    // `requestId` is the name that links of earlier releases have.
    const pasted = c.req.query('q') ?? c.req.query('requestId')
    return pasted === undefined ? c.html(<SupportPage />) : find(c, pasted)
  })
  app.post('/', allow('reader'), async (c) => {
    const { q, after } = await fieldsOf(c)
    return await find(c, textIn(q), textIn(after))
  })
  app.get('/search', allow('reader'), (c) => c.redirect(formerSearch(c.req.query()), 301))
  app.get('/replays/done', allow('reader'), (c) => c.redirect(formerSearch(c.req.query()), 301))
  app.get('/:requestId', allow('reader'), (c) => show(c, c.req.param('requestId')))
  app.get('/:requestId/html', allow('reader'), async (c) => {
    const requestId = c.req.param('requestId')
    const showsContent = seesContent(c.get('person'), runtime.settings)
    const context =
      showsContent && canBeRecordId(requestId)
        ? await findSendContext(runtime.db, requestId, true)
        : undefined
    return htmlOfMail(c, readKeptMessage(context?.message)?.email?.html)
  })
  app.route('/:requestId/replay', replay(runtime))
  app.route('/:requestId/cancel', cancel(runtime))
  app.route('/:requestId/move', move(runtime))
  app.route('/:requestId/settle', settle(runtime))
  app.route('/:requestId/callbacks', callbacksOfSend(runtime))
  return app

  async function show(c: Context<AdminEnv>, given: string) {
    const { db, settings } = runtime
    const requestId = findRequestId(given)
    if (requestId !== undefined && requestId !== given) return c.redirect(`/support/${requestId}`, 303)
    const found = requestId === undefined ? undefined : await findExplanation(db, requestId)
    const showsContent = seesContent(c.get('person'), settings)
    const context = found && (await findSendContext(db, found.send.requestId, showsContent))
    const same = context && (await sameContentNear(db, found.send, context.accountId))
    if (!same) return await find(c, given)
    const { conversationId } = found.send
    const contacts = contactsSeen(c, settings, conversationId === null ? {} : { conversationId })
    const timeline = buildTimeline(found.send, found.events, contacts)
    // It has a line to copy for the customer.
    const explanation = explain(buildTimeline(found.send, found.events, 'masked'), found.facts)
    const updates = c.req.query('updates') !== 'off'
    const refresh = explanation.tone === 'waiting' && updates ? refreshSeconds : undefined
    const suppressed = await suppressedSend(runtime, found, context.accountId)
    const { items: changes } = await pageOfAudit(db, { target: found.send.requestId, limit: changesShown })
    const { channel, channels, isScheduled } = found.facts
    return c.html(
      <SendPage
        {...{
          timeline,
          explanation,
          channel,
          channels,
          context,
          showsContent,
          same,
          changes,
          suppressed,
          canBeMoved: isScheduled && c.get('person').role === 'operator',
        }}
        refreshSeconds={refresh}
      />,
    )
  }
}
