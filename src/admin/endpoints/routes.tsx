import { z } from 'zod'
import { auditedInPages } from '../../../db/audit/record.ts'
import { findEndpoint } from '../../../db/callbacks/endpoints.ts'
import { resendOfEndpoint } from '../../../db/callbacks/resends.ts'
import { findNewestCallbacks } from '../../../db/callbacks/shown-callbacks.ts'
import { type EndpointFilter, listAllEndpoints } from '../../../db/overview/endpoints.ts'
import { endpointResent } from '../../core/audit-details.ts'
import { isStorable } from '../../core/characters.ts'
import { canBeRecordId } from '../../core/record-id.ts'
import { pageActor } from '../audit/page-actor.ts'
import { type AdminApp, type AdminRuntime, factory } from '../context.ts'
import { PageError } from '../errors.tsx'
import { placeIn } from '../numbers/place.ts'
import { allow } from '../people/allow.ts'
import { fieldsOf } from '../support/form-fields.ts'
import { EndpointPage } from './endpoint-page.tsx'
import { EndpointListPage, endpointStates } from './list-page.tsx'

const shownCallbacks = 50
const pageSize = 50

const places = placeIn(z.object({ rank: z.int32(), endpointId: z.string().refine(canBeRecordId) }))

/** The pages of endpoints (docs/reference/callbacks.md). Workers find within seconds what is to be sent again. */
export function endpoints({ db, log }: AdminRuntime): AdminApp {
  const app: AdminApp = factory.createApp()

  app.get('/', allow('support'), async (c) => {
    const filter = filterOf(c.req.query())
    const after = places.read(c.req.query('after'))
    const { endpoints, next } = await listAllEndpoints(db, filter, { after, limit: pageSize })
    const set = Object.entries(filter).filter(([, value]) => value !== undefined) as [string, string][]
    const link = next && `/endpoints?${new URLSearchParams([...set, ['after', places.write(next)]])}`
    return c.html(<EndpointListPage filter={filter} endpoints={endpoints} next={link} />)
  })

  app.get('/:endpointId', allow('support'), async (c) => {
    const endpoint = await find(c.req.param('endpointId'))
    const callbacks = await findNewestCallbacks(db, [endpoint.endpointId, shownCallbacks])
    const resent = /^\d{1,9}$/.exec(c.req.query('resent') ?? '')
    return c.html(
      <EndpointPage
        endpoint={endpoint}
        callbacks={callbacks}
        resent={resent ? Number(resent[0]) : undefined}
      />,
    )
  })

  app.post('/:endpointId/resend', allow('support'), async (c) => {
    const { endpointId } = await find(c.req.param('endpointId'))
    const { since, onlyGivenUp } = await fieldsOf(c)
    const from = new Date(`${String(since)}Z`)
    if (Number.isNaN(from.getTime()))
      throw new PageError(400, 'Give the time since when, for example 2026-11-21T14:00, in UTC.')
    const set = { endpointId, since: from, onlyGivenUp: onlyGivenUp === 'yes' }
    const row = { ...pageActor(c), ...endpointResent(set) }
    const resent = await auditedInPages(db, row, {
      change: () => resendOfEndpoint(db, set),
      resultOf: (resent) => ({ resent }),
    })
    log.info({ event: 'callbacks_resent', endpointId, resent, by: 'support page' })
    return c.redirect(`/endpoints/${endpointId}?resent=${resent}`, 303)
  })

  const find = async (endpointId: string) => {
    const endpoint = canBeRecordId(endpointId) ? await findEndpoint(db, endpointId) : undefined
    if (endpoint) return endpoint
    throw new PageError(404, 'There is no such endpoint.')
  }
  return app
}

function filterOf({ account, state }: Record<string, string>): EndpointFilter {
  const typed = account?.trim()
  return {
    account: typed && isStorable(typed) ? typed : undefined,
    state: endpointStates.find((known) => known === state),
  }
}
