import { tryGetContext } from 'hono/context-storage'
import type { Child } from 'hono/jsx'
import { mayAs, type Role } from '../../core/accounts/person.ts'
import type { AdminEnv } from '../context.ts'

/** Shows what a role may do only to those who may. Routes check it by themselves (people/allow.ts). */
export function ForRole({ who, children }: { who: Role; children?: Child }) {
  const person = tryGetContext<AdminEnv>()?.var.person
  const isShown = person !== undefined && mayAs(person.role, who)
  return <>{isShown && children}</>
}
