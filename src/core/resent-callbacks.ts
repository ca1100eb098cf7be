/** The callbacks of an endpoint that were not sent again, by why. */
type LeftOut = Record<'waiting' | 'delivered' | 'earlier', number>

const words: Record<keyof LeftOut, (count: number) => string> = {
  waiting: (count) => `${count} ${count === 1 ? 'waits' : 'wait'} for a call anyway`,
  delivered: (count) => `${count} ${count === 1 ? 'was' : 'were'} delivered, and not given up`,
  earlier: (count) => `${count} ${count === 1 ? 'is of a change' : 'are of changes'} before the time given`,
}

/** Why callbacks were left out, for people; where nothing was sent, why not. Empty if there is nothing to say. */
export function whyNotResent(resent: number, leftOut: LeftOut): string {
  const reasons = (Object.keys(words) as (keyof LeftOut)[]).flatMap((why) =>
    leftOut[why] > 0 ? [words[why](leftOut[why])] : [],
  )
  if (reasons.length > 0) return `Left out: ${reasons.join('; ')}.`
  return resent === 0
    ? 'The endpoint has no callbacks: none were made for it, or they are no longer kept.'
    : ''
}
