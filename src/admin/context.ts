import type { HttpBindings } from '@hono/node-server'
import type { Context, Hono } from 'hono'
import { createFactory } from 'hono/factory'
import type { FoundAccount } from '../../db/overview/accounts.ts'
import type { AuditEntry, SeenIds } from '../core/accounts/audit.ts'
import type { Person } from '../core/accounts/person.ts'
import type { AdminSettings } from '../platform/settings/settings.ts'
import type { Runtime } from '../runtime.ts'

export type AdminRuntime = Runtime<AdminSettings>

export interface AdminEnv {
  Bindings: HttpBindings
  Variables: {
    /** Who asks. Set by `identify`. On routes for anyone it may be missing: see `signedIn`. */
    person: Person
    /** The hash of the person's session, if they signed in on the page `/login`. */
    sessionHash: Buffer | undefined
    /** The origin that the client asked for, such as `https://console.example`; undefined if it isn't known. */
    askedOrigin: string | undefined
    /** The client's address. Set by `identify`. */
    address: string
    /** The account that pages show; undefined for all. Set by `chosenAccount`. */
    account: FoundAccount | undefined
    /** Set if the answer shows whole contacts: ids of the one that its page is of. Recorded by `recordSeen`. */
    seen: SeenIds | undefined
    /** Whether the request changes what is set up. Set by `makingOf`. */
    isSettingUp: true | undefined
    /** The downloaded list. Set by its route, recorded by `recordSeen`. */
    downloaded: AuditEntry | undefined
    /** Why a store can't be used at the moment, for the top of each page. Set by `storeWarnings`. */
    storeWarnings: readonly string[]
    /** The address of the API from outside, if it is known. */
    publicBaseUrl: string | undefined
    /** Records that the person was refused something. Set by `identify`. */
    recordRefusal: () => Promise<void>
  }
}

export type AdminApp = Hono<AdminEnv>

export const factory = createFactory<AdminEnv>()

/** Whether the client's way here has TLS, as far as a trusted proxy says so. */
export const isOverTls = (c: Context<AdminEnv>): boolean =>
  c.get('askedOrigin')?.startsWith('https:') ?? false

export const signedIn = (c: Context<AdminEnv>): Person | undefined => c.get('person')
