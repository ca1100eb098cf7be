import type { HttpBindings } from '@hono/node-server'
import type { Hono } from 'hono'
import { createFactory } from 'hono/factory'
import type { Person } from '../core/person.ts'
import type { AdminSettings } from '../platform/settings.ts'
import type { Runtime } from '../runtime.ts'

export type AdminRuntime = Runtime<AdminSettings>

export interface AdminEnv {
  Bindings: HttpBindings
  Variables: {
    /** Who asks. Set by `authenticate`. */
    person: Person
    /** Records that the person was refused something. Set by `authenticate`. */
    recordRefusal: () => Promise<void>
  }
}

export type AdminApp = Hono<AdminEnv>

export const factory = createFactory<AdminEnv>()
