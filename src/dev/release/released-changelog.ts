/** The headings of a changelog: of what is unreleased, and of a version. */
interface Headings {
  unreleased: string
  of(version: string, day: string): string
}

const ofService: Headings = {
  unreleased: '## [Unreleased]',
  of: (version, day) => `## [${version}] - ${day}`,
}
const ofClients: Headings = { unreleased: '## Unreleased', of: (version) => `## ${version}` }

/** A changelog whose unreleased lines became those of a version, and these lines. */
export interface ReleasedChangelog {
  text: string
  notes: string
}

/**
 * Gives the unreleased lines of CHANGELOG.md a version and a day, below an empty `[Unreleased]`.
 *
 * @returns undefined if nothing is unreleased.
 */
export function releasedChangelog(text: string, version: string, day: string): ReleasedChangelog | undefined {
  const released = release(text, ofService, version, day)
  return released?.notes ? released : undefined
}

/**
 * Gives the changelog for clients the version, too: both have the same ones. A release without a line for clients says so.
 *
 * @returns undefined if it has no heading for what is unreleased.
 */
export const releasedClientChangelog = (text: string, version: string, day: string): string | undefined =>
  release(text, ofClients, version, day, '- Nothing that programs notice.')?.text

function release(
  text: string,
  { unreleased, of }: Headings,
  version: string,
  day: string,
  notesOfNone = '',
): ReleasedChangelog | undefined {
  const start = text.indexOf(`${unreleased}\n`)
  if (start < 0) return undefined
  const after = start + unreleased.length
  const next = text.indexOf('\n## ', after)
  const end = next < 0 ? text.length : next
  const notes = text.slice(after, end).trim() || notesOfNone
  const released = `${unreleased}\n\n${of(version, day)}\n\n${notes}\n`
  return { text: `${text.slice(0, start)}${released}${text.slice(end)}`, notes }
}
