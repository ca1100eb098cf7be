import type { DeliveryState } from '../../../core/receipts/receipt.ts'
import type { SendStatus } from '../../../core/sends/timeline.ts'
import type { Emulator } from './emulator.ts'

/** A send of the demo, and its expected end. */
export interface Example {
  title: string
  contact: object
  message: object
  ends: SendStatus
  attempts: number
  /** Reported after the end. Default: not waited for. */
  delivery?: DeliveryState
  /** Describes what the emulator received of the send, on one line; undefined if it received nothing. */
  received?(requestId: string): string | undefined
}

/** A provider's parts for development and tests. */
export interface Emulation<Started extends Emulator<unknown, never> = Emulator<unknown, never>> {
  /** Starts a fake server of the provider. Absent if the provider calls none. */
  start?(): Promise<Started>
  /** Sends for the demo. */
  examples(emulator: Started): Example[]
  /** A template that needs the variable `name`, as it is registered. */
  template: object
}

/** Checks the parts against the type of the emulator. */
export const defineEmulation = <Started extends Emulator<unknown, never>>(
  given: Emulation<Started>,
): Emulation<Started> => given

/** Sent at the first attempt. */
export const sentAtOnce = { ends: 'sent', attempts: 1 } as const

export const ann = { value: '+49 151 12345678', name: 'Ann Example' }
export const annsMail = { value: 'ann@example.com', type: 'email', name: 'Ann Example' }

export const onePixelPng =
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=='
