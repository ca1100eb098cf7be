import { type Figure, median } from '../figures.ts'

const factor = 1.3
const marginMs = 20

export const undisturbed = `at most ${factor} x that without + ${marginMs} ms`

/** Whether a latency is about the same as without the disturbance. */
export function isUndisturbed(without: Figure, disturbed: Figure): boolean {
  return median(disturbed.values) <= factor * median(without.values) + marginMs
}
