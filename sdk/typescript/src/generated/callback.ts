// Written by `npm run clients` from the OpenAPI document, not by hand.
import type { SendChange, CeilingUse, EndpointTest } from './schema.ts'

/** The body of a callback, as an endpoint gets it. Its `type` says which. */
export type Callback = SendChange | CeilingUse | EndpointTest
