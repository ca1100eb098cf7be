import { maxMediaBytes } from '../../../src/core/messages/message-body.ts'
import { longestWaitForMemoryMs } from '../../../src/core/sends/delivery-times.ts'
import { MemoryBudget, type Reservation } from '../../../src/platform/memory/memory-budget.ts'
import { NotAcquired } from '../../../src/platform/memory/semaphore.ts'

/** Content of media, from before it is loaded until its call has ended. Beyond it, sends wait with nothing loaded. */
export const mediaBytesInFlight = 8 * maxMediaBytes

export function openMediaMemory(waitMs = longestWaitForMemoryMs): MemoryBudget {
  return new MemoryBudget({ bytes: mediaBytesInFlight, waitMs })
}

/** Waits for so many bytes. @returns whether they were reserved. */
export async function tryReserve(memory: Reservation, bytes: number): Promise<boolean> {
  try {
    await memory.reserve(bytes)
    return true
  } catch (error) {
    if (error instanceof NotAcquired) return false
    throw error
  }
}
