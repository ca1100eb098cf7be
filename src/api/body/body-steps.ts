import type { MiddlewareHandler } from 'hono'
import { sendRequestSchemas } from '../../core/sends/send-request.ts'
import type { Settings } from '../../platform/settings/settings.ts'
import type { ApiEnv } from '../context.ts'
import type { ClientTimeouts } from '../http/client-timeouts.ts'
import { openLargeBodies } from './large/large-bodies.ts'
import type { BodyForm } from './parse-body.ts'
import { readBody, refuseDeclaredOversize } from './read-body.ts'
import { validate } from './validate.ts'

/** The steps from the declared length of a body to the request in it; each is a middleware. */
export interface BodySteps {
  refuseDeclaredOversize: MiddlewareHandler<ApiEnv>
  readBody: MiddlewareHandler<ApiEnv>
  validate(form: BodyForm): MiddlewareHandler<ApiEnv>
}

/** Creates the steps. They share what limits large bodies. */
export function bodySteps(
  settings: Pick<Settings, 'MAX_BODY_BYTES' | 'CLIENT_PRIVATE_NETWORKS'>,
  timeouts: ClientTimeouts,
): BodySteps {
  const { MAX_BODY_BYTES: maxBytes, CLIENT_PRIVATE_NETWORKS: allowedPrivateNetworks } = settings
  const schemas = sendRequestSchemas(allowedPrivateNetworks)
  const large = openLargeBodies(settings, timeouts)
  return {
    refuseDeclaredOversize: refuseDeclaredOversize(maxBytes),
    readBody: readBody(maxBytes, timeouts, large),
    validate: (form: BodyForm) => validate(form, schemas, large),
  }
}
