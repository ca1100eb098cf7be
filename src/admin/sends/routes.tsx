import type { Context } from 'hono'
import { type ListedSend, listSends, maxLookedAt } from '../../../db/sends/list.ts'
import { countSends } from '../../../db/sends/list-count.ts'
import type { SeenIds } from '../../core/accounts/audit.ts'
import { listFilters } from '../../core/accounts/audit-details.ts'
import { type AdminApp, type AdminEnv, type AdminRuntime, factory } from '../context.ts'
import { PageError } from '../errors.tsx'
import { formLimit } from '../http/form-limit.ts'
import { contactsSeen } from '../page/masking.ts'
import { allow } from '../people/allow.ts'
import { fieldsOf } from '../support/form-fields.ts'
import { cancelList } from './cancel-list.tsx'
import { csvOf, markOf, streamOf } from './csv.ts'
import { isPrivate, type ListInput, listInputIn, listLink, queryOf, readListForm } from './list-form.ts'
import { ListPage } from './list-page.tsx'
import { describeList, sentenceOf } from './list-sentence.ts'
import { replayList } from './replay-list.tsx'
import { type ResolvedList, resolveList } from './resolve-list.ts'
import { namesIn } from './sends-table.tsx'

export const pageSize = 50

/** Lists of sends, as pages and as CSV, and what is done to all sends of one (docs/how-to/find-a-send.md#lists-of-sends). */
export function sends(runtime: AdminRuntime): AdminApp {
  const app: AdminApp = factory.createApp()
  const { list, csv } = handlers(runtime)

  app.use('/sends/*', formLimit)
  app.use('/sends.csv', formLimit)
  app.get('/sends', allow('reader'), (c) => list(c, listInputIn(c.req.query())))
  app.post('/sends', allow('reader'), async (c) => {
    const input = listInputIn(await fieldsOf(c))
    return isPrivate(input) ? list(c, input) : c.redirect(listLink(input), 303)
  })
  app.get('/sends.csv', allow('reader'), (c) => csv(c, listInputIn(c.req.query())))
  app.post('/sends.csv', allow('reader'), async (c) => csv(c, listInputIn(await fieldsOf(c))))
  app.post('/sends/replay', allow('support'), ...replayList(runtime))
  app.post('/sends/cancel', allow('support'), ...cancelList(runtime))
  // A form's page, opened by its address.
  app.get('/sends/*', allow('reader'), (c) => c.redirect('/sends'))
  return app
}

function handlers({ db, settings }: AdminRuntime) {
  const refuse = (c: Context, input: ListInput, issues: string[], status: 400 | 404) =>
    c.html(<ListPage input={input} sentence={describeList(input)} issues={issues} />, status)

  return {
    async list(c: Context<AdminEnv>, asked: ListInput) {
      const input = ofChosenAccount(c, asked)
      const read = readListForm(input)
      if ('issues' in read) return refuse(c, input, read.issues, 400)
      const resolved = await resolveList(db, read.form)
      if ('issues' in resolved) return refuse(c, input, resolved.issues, 404)
      const query = queryOf(read.form, resolved, pageSize)
      const page = await listSends(db, resolved.accountId, query)
      const total =
        page.next || read.form.after
          ? await countSends(db, resolved.accountId, query, maxLookedAt)
          : { count: page.sends.length, isMore: false }
      const contacts = contactsSeen(c, settings, whoseList(input, resolved, page.sends))
      const sentence = await sentenceOf(db, input, resolved)
      const shown = { page, total, names: await namesIn(db, page.sends), contacts }
      return c.html(<ListPage {...{ input, sentence, list: shown }} />)
    },

    async csv(c: Context<AdminEnv>, asked: ListInput) {
      const now = new Date()
      const read = readListForm(ofChosenAccount(c, asked))
      if ('issues' in read) throw new PageError(400, read.issues.join(' '))
      const resolved = await resolveList(db, read.form)
      if ('issues' in resolved) throw new PageError(404, resolved.issues.join(' '))
      const { limit: _, ...query } = queryOf(read.form, resolved, 0)
      const contacts = contactsSeen(c, settings)
      const { ownerId: target = null, channelId, flowId } = resolved
      const details = listFilters({ ...read.form, channelId, flowId })
      c.set('downloaded', { action: 'sends.download', target, details })
      const mark = markOf(c.req.query('bom'))
      const rows = csvOf(db, { accountId: resolved.accountId, query, contacts, mark })
      return c.body(await streamOf(rows), 200, {
        'Content-Type': 'text/csv; charset=utf-8; header=present',
        'Content-Disposition': `attachment; filename="sends-${now.toISOString().slice(0, 10)}.csv"`,
        'Cache-Control': 'no-store',
      })
    },
  }
}

/** The list of the chosen account, unless it is of a channel or a flow, which may be of another. */
function ofChosenAccount(c: Context<AdminEnv>, input: ListInput): ListInput {
  const account = c.get('account')
  if (!account || (input.accountId === undefined && (input.channelId || input.flowId))) return input
  return { ...input, accountId: account.accountId }
}

/** Whose contacts a list shows, for the audit: of a contact that was looked for, its newest send says who it is. */
function whoseList(
  input: ListInput,
  { ownerId, channelId }: ResolvedList,
  [newest]: readonly ListedSend[],
): SeenIds {
  return {
    ...(ownerId !== undefined && { accountId: ownerId }),
    ...(channelId !== undefined && { channelId }),
    ...(isPrivate(input) && newest && { requestId: newest.requestId }),
  }
}
