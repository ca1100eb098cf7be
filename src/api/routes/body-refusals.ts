import { encoded, otherType } from '../body/body-headers.ts'
import { tooSlow } from '../body/receive.ts'
import { timeouts } from '../http/client-timeouts.ts'
import type { Refusals } from './route.ts'

/** Refusals of every route that reads a body. */
export const readRefusals: Refusals = {
  encoded: { summary: 'The body is compressed', error: encoded },
  tooSlow: {
    summary: 'The body comes too slowly',
    error: () => tooSlow(timeouts.bodyBytesPerSecond),
  },
}

/** Refusals of every route that reads JSON. */
export const jsonRefusals: Refusals = {
  ...readRefusals,
  otherType: { summary: 'The body is not declared as JSON', error: otherType },
}
