import type { Child } from 'hono/jsx'
import { formatCount } from '../numbers/spans.ts'

interface ProgressProps {
  done: number
  of: number
  children?: Child
}

/** How much of a list is done: a bar, and in words. */
export function Progress({ done, of, children }: ProgressProps) {
  return (
    <p>
      <label for="progress">
        {formatCount(Math.min(done, of))} of {formatCount(of)} done{children}
      </label>
      <progress id="progress" value={String(Math.min(done, of))} max={String(Math.max(of, 1))} />
    </p>
  )
}

export const messages = (number: number) => (number === 1 ? '1 message' : `${formatCount(number)} messages`)
