import type { Guide } from './guide.ts'

/** What `npm run build` makes of the documentation: the guides, and the samples of the reference with their words marked. */
export interface BuiltSite {
  guides: Guide[]
  /** The HTML of a sample by its text. */
  samples: Record<string, string>
}
