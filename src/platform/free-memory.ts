import { MessageChannel } from 'node:worker_threads'

/** What costs less to free than to leave. */
const leastBytes = 256 * 1024

/**
 * Frees memory now, rather than when it is found to be garbage: V8 answers to each 32 MiB or so that pile up with a
 * collection of everything, which holds up everybody. Whoever still has the bytes, has none then; so nothing may be
 * reading or writing them any more. Those that share their memory with others are left as they are.
 */
export function freeMemory({ buffer, byteLength }: Uint8Array): void {
  if (byteLength < leastBytes || byteLength !== buffer.byteLength) return
  const { port1, port2 } = new MessageChannel()
  port1.postMessage(undefined, [buffer as ArrayBuffer])
  // With the end that would receive it goes what it hasn't received.
  port2.close()
}
