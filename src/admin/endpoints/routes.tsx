import { z } from 'zod'
import { namesOf } from '../../../db/accounts/names.ts'
import { pageOfAudit } from '../../../db/audit/list.ts'
import { audited, auditedInPages, recordAudit } from '../../../db/audit/record.ts'
import { countCallbacks } from '../../../db/callbacks/callback-pages.ts'
import { disableEndpoint, enableEndpoint, findEndpoint } from '../../../db/callbacks/endpoints.ts'
import { type ResentCallbacks, resendCallbacks } from '../../../db/callbacks/resends.ts'
import { pageOfShownCallbacks } from '../../../db/callbacks/shown-callbacks.ts'
import type { Transaction } from '../../../db/connection/client.ts'
import {
  countListedEndpoints,
  type EndpointFilter,
  listAllEndpoints,
} from '../../../db/overview/endpoints.ts'
import { isWebhookId } from '../../core/accounts/account-lists.ts'
import { endpointResent } from '../../core/accounts/audit-details.ts'
import { callbackStates } from '../../core/callbacks/callback.ts'
import { disabledByOperator } from '../../core/callbacks/endpoint-request.ts'
import { placeIn, placesOf } from '../../core/requests/list-place.ts'
import { canBeRecordId } from '../../core/requests/record-id.ts'
import { changesShown } from '../audit/history.tsx'
import { pageActor } from '../audit/page-actor.ts'
import { type AdminApp, type AdminRuntime, factory } from '../context.ts'
import { PageError } from '../errors.tsx'
import { formLimit } from '../http/form-limit.ts'
import { reasonOf } from '../page/reason.tsx'
import { allow } from '../people/allow.ts'
import { fieldsOf } from '../support/form-fields.ts'
import { EndpointPage } from './endpoint-page.tsx'
import { EndpointListPage, endpointStates } from './list-page.tsx'

const pageSize = 50

const callbackPlaces = placesOf('callbacks', isWebhookId)
const places = placeIn(z.object({ rank: z.int32(), endpointId: z.string().refine(canBeRecordId) }))

/** The pages of endpoints (docs/reference/callbacks.md). Workers find within seconds what is to be sent again. */
export function endpoints({ db, log }: AdminRuntime): AdminApp {
  const app: AdminApp = factory.createApp()
  app.use(formLimit)

  app.get('/', allow('reader'), async (c) => {
    const filter: EndpointFilter = {
      state: endpointStates.find((known) => known === c.req.query('state')),
      account: c.get('account')?.accountId,
    }
    const after = places.read(c.req.query('after'))
    const [{ endpoints, next }, total] = await Promise.all([
      listAllEndpoints(db, filter, { after, limit: pageSize }),
      countListedEndpoints(db, filter),
    ])
    const set = Object.entries(filter).filter(([, value]) => value !== undefined) as [string, string][]
    const link = next && `/endpoints?${new URLSearchParams([...set, ['after', places.write(next)]])}`
    return c.html(<EndpointListPage {...{ filter, endpoints, total }} next={link} />)
  })

  app.get('/:endpointId', allow('reader'), async (c) => {
    const endpoint = await find(db, c.req.param('endpointId'))
    const { endpointId, accountId } = endpoint
    const state = callbackStates.find((known) => known === c.req.query('state'))
    const after = callbackPlaces.read(c.req.query('after') ?? '')
    const [{ items, next }, total, names, { items: changes }] = await Promise.all([
      pageOfShownCallbacks(db, endpointId, { state, after, limit: pageSize }),
      countCallbacks(db, endpointId, state),
      namesOf(db, [accountId]),
      pageOfAudit(db, { target: endpointId, limit: changesShown }),
    ])
    const list = { callbacks: items, total, state, next: next && callbackPlaces.write(next) }
    return c.html(
      <EndpointPage
        endpoint={endpoint}
        accountName={names.get(accountId) ?? ''}
        role={c.get('person').role}
        list={list}
        resent={resentIn(c.req.query())}
        changes={changes}
      />,
    )
  })

  app.post('/:endpointId/resend', allow('support'), async (c) => {
    const { endpointId } = await find(db, c.req.param('endpointId'))
    const { since, onlyGivenUp } = await fieldsOf(c)
    const from = new Date(`${String(since)}Z`)
    if (Number.isNaN(from.getTime()))
      throw new PageError(400, 'Give the time since when, for example 2026-11-21T14:00, in UTC.')
    const set = { endpointId, since: from, onlyGivenUp: onlyGivenUp === 'yes' }
    const row = { ...pageActor(c), ...endpointResent(set) }
    const { resent, leftOut } = await auditedInPages(db, row, {
      change: () => resendCallbacks(db, set),
      resultOf: ({ resent }) => ({ resent }),
    })
    log.info({ event: 'callbacks_resent', endpointId, resent, by: c.get('person').name })
    const { waiting, delivered, earlier } = leftOut
    const counts = `resent=${resent}&waiting=${waiting}&delivered=${delivered}&earlier=${earlier}`
    return c.redirect(`/endpoints/${endpointId}?${counts}`, 303)
  })

  app.route('/', switches({ db, log }))
  return app
}

/** The result of a redelivery, if the page follows one: how many callbacks were sent again, and how many left out. */
function resentIn({
  resent,
  waiting,
  delivered,
  earlier,
}: Record<string, string>): ResentCallbacks | undefined {
  const number = (text: string | undefined) => (/^\d{1,9}$/.test(text ?? '') ? Number(text) : undefined)
  const count = number(resent)
  if (count === undefined) return undefined
  const leftOut = {
    waiting: number(waiting) ?? 0,
    delivered: number(delivered) ?? 0,
    earlier: number(earlier) ?? 0,
  }
  return { resent: count, leftOut }
}

type Needed = Pick<AdminRuntime, 'db' | 'log'>

/** Enables and disables, as the commands do. Workers find within seconds what is to be sent then. */
function switches({ db, log }: Needed): AdminApp {
  const app: AdminApp = factory.createApp()

  app.post('/:endpointId/enable', allow('operator'), async (c) => {
    const { endpointId } = await find(db, c.req.param('endpointId'))
    const row = { ...pageActor(c), action: 'endpoint.enable', target: endpointId } as const
    const record = (transaction: Transaction) => recordAudit(transaction, row)
    if (!(await enableEndpoint(db, endpointId, { record }))) throw noEndpoint()
    log.info({ event: 'endpoint_switched', endpointId, to: 'enabled', by: row.by })
    return c.redirect(`/endpoints/${endpointId}`, 303)
  })

  app.post('/:endpointId/disable', allow('operator'), async (c) => {
    const { endpointId } = await find(db, c.req.param('endpointId'))
    const reason = await reasonOf(c)
    const row = {
      ...pageActor(c),
      action: 'endpoint.disable',
      target: endpointId,
      details: { reason },
    } as const
    const isThere = await audited(
      db,
      (transaction) => disableEndpoint(transaction, endpointId, disabledByOperator(reason)),
      (isThere) => isThere && row,
    )
    if (!isThere) throw noEndpoint()
    log.info({ event: 'endpoint_switched', endpointId, to: 'disabled', by: row.by })
    return c.redirect(`/endpoints/${endpointId}`, 303)
  })
  return app
}

async function find(db: AdminRuntime['db'], endpointId: string) {
  const endpoint = canBeRecordId(endpointId) ? await findEndpoint(db, endpointId) : undefined
  if (endpoint) return endpoint
  throw noEndpoint()
}

const noEndpoint = () => new PageError(404, 'There is no such endpoint.')
