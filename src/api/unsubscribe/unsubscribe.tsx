import type { Context } from 'hono'
import type { JSX } from 'hono/jsx/jsx-runtime'
import { unsubscribe } from '../../../db/suppression/unsubscribe.ts'
import { readUnsubscribeToken, type Unsubscription, unsubscribeKey } from '../../core/messages/unsubscribe.ts'
import { suppressionKey } from '../../core/suppression/suppression.ts'
import { logEvent } from '../../platform/log/logger.ts'
import { Semaphore } from '../../platform/memory/semaphore.ts'
import { createWakeEndpoints } from '../../queue/wake-endpoints.ts'
import type { Runtime } from '../../runtime.ts'
import type { SmallBodies } from '../body/small-body.ts'
import { type ApiEnv, factory } from '../context.ts'
import { noSuchUnsubscribeLink } from '../routes/unsubscribe.ts'
import { AskPage, DonePage, headersOfPage } from './page.tsx'

/** The address in a mail by which its contact unsubscribes (docs/client/unsubscribe.md). */
export function serveUnsubscribe(runtime: Runtime, bodies: SmallBodies) {
  const { db, log, settings } = runtime
  const key = unsubscribeKey(settings.API_KEY_PEPPER)
  const keyOfHashes = suppressionKey(settings.API_KEY_PEPPER)
  const wakeEndpoints = createWakeEndpoints(runtime)
  // So that these addresses, which need no key, use no more than one connection of the pool.
  const oneAtATime = new Semaphore({ units: 1, unitsOfOwner: 1 })

  const read = (c: Context<ApiEnv>): Unsubscription => {
    const of = readUnsubscribeToken(c.req.param('token') ?? '', key)
    if (!of) throw noSuchUnsubscribeLink()
    return of
  }

  const ask = factory.createHandlers((c) => answer(c, <AskPage {...read(c)} />))

  const post = factory.createHandlers(bodies.refuseDeclaredOversize, async (c) => {
    const of = read(c)
    const { deadline } = c.var
    await bodies.skip(c)
    const release = await oneAtATime.acquire({ units: 1, owner: '' }, deadline.leftMs)
    const { isNew, endpointsToWake } = await deadline
      .spend(unsubscribe(db, of, keyOfHashes))
      .finally(() => release())
    if (isNew) logEvent(log, of.requestId, 'unsubscribed', {})
    wakeEndpoints(endpointsToWake)
    return answer(c, <DonePage {...of} />)
  })

  return { askToUnsubscribe: ask, unsubscribeByLink: post }
}

const answer = (c: Context<ApiEnv>, page: JSX.Element) =>
  c.body(`<!doctype html>${page}`, 200, { ...c.get('headers'), ...headersOfPage })
