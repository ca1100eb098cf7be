import { mayAs, type Role } from '../../core/accounts/person.ts'
import { type AdminApp, factory, signedIn } from '../context.ts'
import { PageError } from '../errors.tsx'

/** `anyone`: also without signing in. */
export type Access = Role | 'anyone'

const refusedWords: Record<Role, string> = {
  reader: 'Only people who are signed in may do this.',
  support: 'Readers change nothing. Ask somebody with the role support, or an operator.',
  operator: 'Only operators may do this. Ask one, or sign in as one.',
}

const accessOf = new WeakMap<object, Access>()

/** Names the role that a route is for. Each route of these pages has one: see `refuseRoutesWithoutRole`. Another role's try is in the audit. */
export function allow(access: Access) {
  const check = factory.createMiddleware(async (c, next) => {
    const role = signedIn(c)?.role
    if (access !== 'anyone' && role !== undefined && !mayAs(role, access)) {
      await c.get('recordRefusal')()
      throw new PageError(403, refusedWords[access])
    }
    await next()
  })
  accessOf.set(check, access)
  return check
}

interface Route {
  method: string
  path: string
  /** Undefined if the route names no role. */
  access: Access | undefined
}

/** All routes with the role that each names, itself or by an `app.use(allow(…))` above it. */
export function routesOf({ routes }: Pick<AdminApp, 'routes'>): Route[] {
  const found = new Map<string, Route>()
  for (const { method, path, handler } of routes) {
    // Middleware of an `app.use()` is no route. It takes `next`, and is of all methods.
    if (method === 'ALL' && handler.length >= 2) continue
    const own = routes
      .filter((other) => covers(other, { method, path }))
      .map((other) => accessOf.get(other.handler))
    const access = own.find((one) => one === 'operator') ?? own.find((one) => one !== undefined)
    found.set(`${method} ${path}`, { method, path, access })
  }
  return [...found.values()]
}

function covers(other: { method: string; path: string }, { method, path }: { method: string; path: string }) {
  if (other.method === method && other.path === path) return true
  return other.method === 'ALL' && other.path.endsWith('/*') && `${path}/`.startsWith(other.path.slice(0, -1))
}

/** @throws if a route names no role, so that no process serves one that was forgotten. */
export function refuseRoutesWithoutRole(app: Pick<AdminApp, 'routes'>): void {
  const forgotten = routesOf(app).filter(({ access }) => access === undefined)
  if (forgotten.length === 0) return
  const names = forgotten.map(({ method, path }) => `${method} ${path}`)
  throw new Error(`Name the role of these routes with allow(…): ${names.join(', ')}`)
}
