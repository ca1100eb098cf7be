import type { Child } from 'hono/jsx'

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
        {count(Math.min(done, of))} of {count(of)} done{children}
      </label>
      <progress id="progress" value={String(Math.min(done, of))} max={String(Math.max(of, 1))} />
    </p>
  )
}

export const count = (number: number) => number.toLocaleString('en')
export const messages = (number: number) => (number === 1 ? '1 message' : `${count(number)} messages`)
