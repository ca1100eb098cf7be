/** Milliseconds on the machine's monotonic clock: the same one in every process, and nobody sets it. */
export function nowMs(): number {
  return Number(process.hrtime.bigint()) / 1e6
}
