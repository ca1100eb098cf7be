import type { IncomingMessage } from 'node:http'
import { isPersonName, isRole, type Person, personNameWanted, roles } from '../../core/accounts/person.ts'
import { anyOf } from '../../core/any-of.ts'
import { isFromProxy } from '../../platform/http/client-address.ts'
import type { AdminSettings } from '../../platform/settings/settings.ts'
import { PageError } from '../errors.tsx'

type ProxySettings = Pick<AdminSettings, 'ADMIN_USER_HEADER' | 'ADMIN_ROLE_HEADER' | 'TRUST_PROXY'>

/**
 * Creates the reader of the person whom a proxy of `TRUST_PROXY` names in its headers. From any other address the headers are
 * ignored.
 *
 * @returns a function; it throws a PageError if the proxy names a person that can't be used.
 */
export function createReadProxyPerson(settings: ProxySettings) {
  const { ADMIN_USER_HEADER: userHeader, ADMIN_ROLE_HEADER: roleHeader } = settings
  return (incoming: IncomingMessage): Person | undefined => {
    if (userHeader === undefined || roleHeader === undefined || !isFromProxy(incoming, settings))
      return undefined
    const name = onlyValue(incoming, userHeader)
    if (!name) return undefined
    if (!isPersonName(name)) {
      throw new PageError(403, `The proxy's header ${userHeader} has to be a name of ${personNameWanted}.`)
    }
    const role = onlyValue(incoming, roleHeader)
    if (isRole(role)) return { name, role }
    throw new PageError(
      403,
      `The proxy's header ${roleHeader} ${role === undefined ? 'is missing' : `is “${role}”`}. It has to be ${anyOf(roles)}.`,
    )
  }
}

/** A header that came twice is refused: one of them may be what the client sent. */
function onlyValue({ headersDistinct }: IncomingMessage, header: string): string | undefined {
  const [value, another] = headersDistinct[header] ?? []
  if (another !== undefined) {
    throw new PageError(403, `The header ${header} came twice. The proxy has to replace what a client sends.`)
  }
  // Node.js reads headers as Latin-1; proxies write names in UTF-8.
  return value && Buffer.from(value, 'latin1').toString()
}
