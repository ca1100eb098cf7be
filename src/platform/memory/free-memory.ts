import { MessageChannel } from 'node:worker_threads'

/** Below this, freeing costs more than leaving the bytes to the garbage collector. */
const leastBytes = 256 * 1024

/**
 * Frees the memory of a byte array at once. Left to the garbage collector, every 32 MiB or so would start a full
 * collection, which blocks all requests. The array is empty afterwards, so nothing may still read or write it. An array
 * that is a view on part of a larger buffer is left as it is.
 */
export function freeMemory({ buffer, byteLength }: Uint8Array): void {
  if (byteLength < leastBytes || byteLength !== buffer.byteLength) return
  const { port1, port2 } = new MessageChannel()
  port1.postMessage(undefined, [buffer as ArrayBuffer])
  // Closing the receiving port drops the message, and the buffer with it.
  port2.close()
}
