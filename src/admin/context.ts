import type { HttpBindings } from '@hono/node-server'
import type { Hono } from 'hono'
import { createFactory } from 'hono/factory'
import type { AuditEntry } from '../core/audit.ts'
import type { Person } from '../core/person.ts'
import type { AdminSettings } from '../platform/settings.ts'
import type { Runtime } from '../runtime.ts'

export type AdminRuntime = Runtime<AdminSettings>

export interface AdminEnv {
  Bindings: HttpBindings
  Variables: {
    /** Who asks. Set by `authenticate`. */
    person: Person
    /** Records what this person does. */
    record: (entry: AuditEntry) => Promise<unknown>
  }
}

export type AdminApp = Hono<AdminEnv>

export const factory = createFactory<AdminEnv>()
