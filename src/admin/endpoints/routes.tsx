import { z } from 'zod'
import { namesOf } from '../../../db/accounts/names.ts'
import { pageOfAudit } from '../../../db/audit/list.ts'
import { auditedInPages } from '../../../db/audit/record.ts'
import { countCallbacks } from '../../../db/callbacks/callback-pages.ts'
import { lookAtTest } from '../../../db/callbacks/endpoint-tests.ts'
import { findEndpoint } from '../../../db/callbacks/endpoints.ts'
import { type ResentCallbacks, resendCallbacks } from '../../../db/callbacks/resends.ts'
import { pageOfShownCallbacks } from '../../../db/callbacks/shown-callbacks.ts'
import {
  countListedEndpoints,
  type EndpointFilter,
  listAllEndpoints,
} from '../../../db/overview/endpoints.ts'
import { isWebhookId } from '../../core/accounts/account-lists.ts'
import { endpointResent } from '../../core/accounts/audit-details.ts'
import { callbackStates } from '../../core/callbacks/callback.ts'
import { placeIn, placesOf } from '../../core/requests/list-place.ts'
import { canBeRecordId } from '../../core/requests/record-id.ts'
import { resumeEndpoint, stopEndpoint } from '../../setup/endpoints.ts'
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
import { endpointForms } from './set-up.tsx'

const pageSize = 50

const callbackPlaces = placesOf('callbacks', isWebhookId)
const places = placeIn(z.object({ rank: z.int32(), endpointId: z.string().refine(canBeRecordId) }))

/** The pages of endpoints (docs/reference/callbacks.md). Workers find within seconds what is to be sent again. */
export function endpoints(runtime: AdminRuntime): AdminApp {
  const { db, log } = runtime
  const app: AdminApp = factory.createApp()
  app.use(formLimit)
  // Before the pages of one endpoint, of which `new` would be an id.
  app.route('/', endpointForms(runtime))

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
    const addFor = c.get('person').role === 'operator' ? c.get('account')?.accountId : undefined
    return c.html(<EndpointListPage {...{ filter, endpoints, total, addFor }} next={link} />)
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
        test={await testAsked(db, endpointId, c.req.query('test'))}
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

  app.route('/', switches(runtime))
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

/** The test that the page follows, if it follows one. */
async function testAsked(db: AdminRuntime['db'], endpointId: string, id = '') {
  return canBeRecordId(id) ? await lookAtTest(db, { endpointId, id }) : undefined
}

/** Enables and disables, as the commands do. Workers find within seconds what is to be sent then. */
function switches({ db, log }: AdminRuntime): AdminApp {
  const app: AdminApp = factory.createApp()

  app.post('/:endpointId/enable', allow('operator'), async (c) => {
    const { endpointId } = await find(db, c.req.param('endpointId'))
    if (!(await resumeEndpoint({ db, actor: pageActor(c) }, endpointId))) throw noEndpoint()
    log.info({ event: 'endpoint_switched', endpointId, to: 'enabled', by: c.get('person').name })
    return c.redirect(`/endpoints/${endpointId}`, 303)
  })

  app.post('/:endpointId/disable', allow('operator'), async (c) => {
    const { endpointId } = await find(db, c.req.param('endpointId'))
    const reason = await reasonOf(c)
    if (!(await stopEndpoint({ db, actor: pageActor(c) }, endpointId, reason))) throw noEndpoint()
    log.info({ event: 'endpoint_switched', endpointId, to: 'disabled', by: c.get('person').name })
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
