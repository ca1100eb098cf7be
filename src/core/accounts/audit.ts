import type { Actor } from './actor.ts'

/** The kind of thing that a row's target is. */
export type AuditTarget =
  | 'account'
  | 'channel'
  | 'endpoint'
  | 'flow'
  | 'key'
  | 'page'
  | 'person'
  | 'provider'
  | 'send'
  | 'suppression'

/** The actions that the audit records: changes, sign-ins, downloads, views of whole contacts. Each has the kind of its target, and words. */
export const auditActions = {
  'account.create': { target: 'account', what: 'created an account' },
  'account.update': { target: 'account', what: 'changed an account' },
  'key.create': { target: 'key', what: 'created an API key' },
  'key.revoke': { target: 'key', what: 'revoked an API key' },
  'channel.create': { target: 'channel', what: 'created a channel' },
  'channel.update': { target: 'channel', what: 'changed a channel' },
  'channel.try': { target: 'channel', what: 'tried a channel' },
  'channel.hold': { target: 'channel', what: 'held a channel' },
  'channel.resume': { target: 'channel', what: 'resumed a channel' },
  'channel.delete': { target: 'channel', what: 'deleted a channel' },
  'provider.set': { target: 'provider', what: 'set the file of a provider' },
  'provider.remove': { target: 'provider', what: 'removed the file of a provider' },
  'template.set': { target: 'channel', what: 'set a template of a channel' },
  'template.remove': { target: 'channel', what: 'removed a template of a channel' },
  'flow.create': { target: 'flow', what: 'created a flow' },
  'flow.delete': { target: 'flow', what: 'deleted a flow' },
  'contact.erase': { target: 'account', what: 'erased a contact of an account' },
  'credentials.rotate': { target: null, what: 'sealed all credentials with the current key' },
  'receipts.fetch': { target: 'channel', what: 'asked for the receipts of a channel' },
  'endpoint.create': { target: 'endpoint', what: 'created an endpoint' },
  'endpoint.update': { target: 'endpoint', what: 'changed an endpoint' },
  'endpoint.enable': { target: 'endpoint', what: 'enabled an endpoint' },
  'endpoint.disable': { target: 'endpoint', what: 'disabled an endpoint' },
  'endpoint.delete': { target: 'endpoint', what: 'deleted an endpoint' },
  'endpoint.test': { target: 'endpoint', what: 'tested an endpoint' },
  'endpoint.rotate_secret': { target: 'endpoint', what: 'replaced the secret of an endpoint' },
  'endpoint.resend': { target: 'endpoint', what: 'sent callbacks of an endpoint again' },
  'send.resend_callbacks': { target: 'send', what: 'sent the callbacks of a send again' },
  'suppression.add': { target: 'suppression', what: 'suppressed a contact' },
  'suppression.remove': { target: 'suppression', what: 'removed a suppression' },
  'suppression.import': { target: 'account', what: 'imported suppressions of an account' },
  'send.replay': { target: 'send', what: 'replayed a send' },
  'send.settle': { target: 'send', what: 'settled an uncertain send' },
  'send.move': { target: 'send', what: 'gave a scheduled send another contact' },
  'send.cancel': { target: 'send', what: 'canceled a send' },
  'sends.replay': { target: 'channel', what: 'replayed sends of a channel' },
  'sends.cancel': { target: 'account', what: 'canceled sends of an account' },
  'list.replay': { target: 'account', what: 'replayed a part of a list of sends' },
  'list.cancel': { target: 'account', what: 'canceled a part of a list of sends' },
  'person.add': { target: 'person', what: 'added a person' },
  'person.remove': { target: 'person', what: 'removed a person' },
  'person.set_role': { target: 'person', what: 'changed the role of a person' },
  'person.end_sessions': { target: 'person', what: 'ended sessions of a person' },
  'person.set_password': { target: 'person', what: 'set the password of a person' },
  'person.sign_in': { target: 'person', what: 'signed in' },
  'person.sign_in_refused': { target: 'person', what: 'was refused a sign-in' },
  'person.sign_out': { target: 'person', what: 'signed out' },
  'contacts.view': { target: 'page', what: 'saw whole contacts on a page' },
  'sends.download': { target: 'account', what: 'downloaded a list of sends' },
  'suppression.export': { target: 'account', what: 'downloaded the suppressions of an account' },
  'page.refused': { target: 'page', what: 'was refused a page for another role' },
} as const satisfies Record<string, { target: AuditTarget | null; what: string }>

export type AuditAction = keyof typeof auditActions

/**
 * A change, as the audit records it. Its details never hold content, secrets or contacts, not even masked ones: the erasure of a
 * contact doesn't reach them.
 */
export interface AuditEntry {
  action: AuditAction
  target: string | null
  details?: Record<string, AuditDetail>
}

/** A change, and who made it. */
export type AuditRow = Actor & AuditEntry

export type AuditDetail = string | number | boolean | null | string[]

/** Ids by which the audit names whose contact was seen, since it never has a contact. */
export type SeenIds = Partial<
  Record<'accountId' | 'channelId' | 'conversationId' | 'requestId' | 'suppressionId', string>
>
