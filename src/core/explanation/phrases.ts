const units: [seconds: number, name: string][] = [
  [86_400, 'd'],
  [3600, 'h'],
  [60, 'min'],
]

/** In at most two units: `870 ms`, `42 s`, `2 min 5 s`, `3 h`. */
export function duration(ms: number): string {
  if (ms < 995) return `${Math.round(ms)} ms`
  if (ms < 9950) return `${Number((ms / 1000).toFixed(1))} s`
  const seconds = Math.round(ms / 1000)
  const [size, name] = units.find(([size]) => seconds >= size) ?? [1, 's']
  const whole = `${Math.floor(seconds / size)} ${name}`
  const rest = seconds % size
  if (rest === 0) return whole
  const [nextSize, nextName] = units.find(([size]) => rest >= size) ?? [1, 's']
  return `${whole} ${Math.floor(rest / nextSize)} ${nextName}`
}

/** `14:02:11 UTC`, with the date unless it is today. */
export function clock(at: string | Date, now: Date): string {
  const [date, time] = new Date(at).toISOString().split('T')
  const shown = `${time?.slice(0, 8)} UTC`
  return now.toISOString().startsWith(`${date}T`) ? shown : `${shown} on ${date}`
}

/** `2026-11-21 14:02:11 UTC` */
export const moment = (at: string | Date) =>
  `${new Date(at).toISOString().replace('T', ' ').slice(0, 19)} UTC`

export function count(number: number, noun: string): string {
  return `${number} ${noun}${number === 1 ? '' : 's'}`
}

/** `: the number is not valid`, as a part of a sentence; empty if the reason is unknown or was erased. */
export function because(reason: string): string {
  const clause = clauseOf(reason)
  return clause === '' ? '' : `: ${clause}`
}

/** `The number is not valid.`; empty if the reason is unknown or was erased. */
export function sentence(reason: string): string {
  const clause = clauseOf(reason)
  return clause === '' ? '' : `${capitalised(clause)}.`
}

export const capitalised = (words: string) => `${words.charAt(0).toUpperCase()}${words.slice(1)}`

const clauseOf = (reason: string) => reason.trim().replace(/[.\s]+$/, '')
