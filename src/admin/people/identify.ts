import { readSession, useSession } from '../../../db/people/sessions.ts'
import { builtIn } from '../../core/accounts/person.ts'
import { createReadClientAddress, createWarnOfUnknownProxy } from '../../platform/http/client-address.ts'
import { type AdminRuntime, factory, signedIn } from '../context.ts'
import { PageError } from '../errors.tsx'
import type { PasswordCheck } from '../http/access.ts'
import { createReadProxyPerson } from './proxy-person.ts'
import { createRecordRefusal } from './refusals.ts'
import { sessionHashOf } from './session-cookie.ts'

/**
 * Finds out who asks: whom a trusted proxy names, or whose session it is. Where there were never people, the user of
 * ADMIN_PASSWORD is the built-in operator. A person who isn't signed in is sent to the page `/login` by `requireSignIn`.
 */
export function identify(runtime: AdminRuntime, checkPassword: PasswordCheck) {
  const { db, settings } = runtime
  const clientAddress = createReadClientAddress(runtime)
  const proxyPerson = createReadProxyPerson(settings)
  const recordRefusal = createRecordRefusal(runtime)
  const warnOfUnknownProxy = createWarnOfUnknownProxy(runtime)
  return factory.createMiddleware(async (c, next) => {
    const { incoming } = c.env
    warnOfUnknownProxy(incoming)
    c.set('address', clientAddress(incoming))
    c.set('recordRefusal', () => recordRefusal(c))
    const named = proxyPerson(incoming)
    if (named) {
      c.set('person', named)
      return next()
    }
    const sessionHash = sessionHashOf(c)
    const { hadPeople, person, isUseDue } = await readSession(db, sessionHash)
    if (person) {
      c.set('person', person)
      c.set('sessionHash', sessionHash)
      // On a standby nothing is written: the session ends by its last recorded use.
      if (sessionHash && isUseDue) await useSession(db, sessionHash).catch(() => {})
    } else if (!hadPeople) {
      if (settings.ADMIN_PASSWORD === undefined && settings.ADMIN_USER_HEADER !== undefined)
        throw new PageError(403, 'Open these pages through the proxy that writes ADMIN_USER_HEADER.')
      checkPassword(c)
      c.set('person', builtIn)
    }
    await next()
  })
}

/** Leads who hasn't signed in to the page `/login`, and from there back to the page that they asked for. */
export const requireSignIn = factory.createMiddleware(async (c, next) => {
  if (signedIn(c) !== undefined) return next()
  if (c.req.method !== 'GET' && c.req.method !== 'HEAD')
    throw new PageError(401, 'You are not signed in any more. Open /login, sign in, and send the form again.')
  const { pathname, search } = new URL(c.req.url)
  return c.redirect(`/login?${new URLSearchParams({ next: pathname + search })}`, 303)
})
