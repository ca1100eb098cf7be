const unreleased = '## [Unreleased]'

/** A changelog whose unreleased lines became those of a version, and these lines. */
export interface ReleasedChangelog {
  text: string
  notes: string
}

/**
 * Gives the unreleased lines of a changelog a version and a day, below an empty `[Unreleased]`.
 *
 * @returns undefined if nothing is unreleased.
 */
export function releasedChangelog(text: string, version: string, day: string): ReleasedChangelog | undefined {
  const start = text.indexOf(`${unreleased}\n`)
  if (start < 0) return undefined
  const after = start + unreleased.length
  const next = text.indexOf('\n## [', after)
  const end = next < 0 ? text.length : next
  const notes = text.slice(after, end).trim()
  if (notes === '') return undefined
  const released = `${unreleased}\n\n## [${version}] - ${day}\n\n${notes}\n`
  return { text: `${text.slice(0, start)}${released}${text.slice(end)}`, notes }
}
