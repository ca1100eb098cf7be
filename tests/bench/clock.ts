/** Milliseconds on the machine's monotonic clock, which all processes share, and which can't be set. */
export function nowMs(): number {
  return Number(process.hrtime.bigint()) / 1e6
}
