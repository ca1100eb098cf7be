import { createWakeEndpoints } from '../../queue/wake-endpoints.ts'
import type { Runtime } from '../../runtime.ts'
import type { AccountSteps } from '../account/steps.ts'
import type { ClientTimeouts } from '../http/client-timeouts.ts'
import type { SendSteps } from '../send/steps.ts'
import { callEndpoint } from './call-endpoint.ts'
import { createEndpoint } from './create-endpoint.ts'
import { manageEndpoints } from './manage-endpoints.ts'
import { readEndpoints } from './read-endpoints.ts'
import { endpointSteps } from './steps.ts'

/** Serves the routes by which an account manages its endpoints (docs/reference/api.md#endpoints). */
export function serveEndpoints(
  runtime: Runtime,
  account: AccountSteps,
  sendSteps: SendSteps,
  timeouts: ClientTimeouts,
) {
  const steps = endpointSteps(runtime, account)
  const wake = createWakeEndpoints(runtime)
  return {
    ...readEndpoints(runtime, steps),
    createEndpoint: createEndpoint(runtime, steps, sendSteps),
    ...manageEndpoints(runtime, steps, wake),
    ...callEndpoint(runtime, steps, wake, timeouts),
  }
}
