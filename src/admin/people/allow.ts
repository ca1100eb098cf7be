import type { Role } from '../../core/person.ts'
import { factory } from '../context.ts'
import { PageError } from '../errors.tsx'

/** Names the role that a route is for. Each route of these pages has one. Another role's try is in the audit. */
export function allow(role: Role) {
  return factory.createMiddleware(async (c, next) => {
    if (role === 'operator' && c.get('person').role !== 'operator') {
      await c.get('recordRefusal')()
      throw new PageError(403, 'Only operators may do this. Ask one, or sign in as one.')
    }
    await next()
  })
}
