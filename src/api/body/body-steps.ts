import { sendRequestSchemas } from '../../core/send-request.ts'
import type { Settings } from '../../platform/settings.ts'
import type { ClientTimeouts } from '../client-timeouts.ts'
import { openLargeBodies, smallBytes } from './large/large-bodies.ts'
import type { BodyForm } from './parse-body.ts'
import { readBody, refuseDeclaredOversize } from './read-body.ts'
import { validate } from './validate.ts'

export type BodySteps = ReturnType<typeof bodySteps>

/** Creates the steps from the declared length of a body to the request in it. They share what limits large bodies. */
export function bodySteps(
  settings: Pick<Settings, 'MAX_BODY_BYTES' | 'ALLOWED_PRIVATE_NETWORKS'>,
  timeouts: ClientTimeouts,
) {
  const { MAX_BODY_BYTES: maxBytes, ALLOWED_PRIVATE_NETWORKS: allowedPrivateNetworks } = settings
  const schemas = sendRequestSchemas(allowedPrivateNetworks)
  const large = openLargeBodies(settings, timeouts)
  return {
    refuseDeclaredOversize: refuseDeclaredOversize(maxBytes),
    readBody: readBody(maxBytes, timeouts, large),
    /** For a route other than a send's, whose body has a few fields. */
    readSmallBody: readBody(Math.min(smallBytes, maxBytes), timeouts, large),
    validate: (form: BodyForm) => validate(form, schemas, large),
  }
}
