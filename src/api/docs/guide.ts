/** A heading of a guide and what follows it, for the search and the outline. */
export interface Section {
  id: string
  heading: string
  depth: number
  text: string
}

/** A guide of docs/client, as HTML and as Markdown. */
export interface Guide {
  name: string
  title: string
  /** Its first sentence. */
  about: string
  html: string
  markdown: string
  sections: Section[]
  /** The day of its last change; absent if the sources have no history. */
  changedOn?: string
}

/** The guides by their groups, in the order in which a client needs them. */
export const guideGroups = {
  Start: ['first-send', 'try-it'],
  Send: ['templates', 'media', 'mail', 'login-code', 'later-and-cancel', 'batch', 'dry-run'],
  Follow: ['callbacks', 'receipts', 'list', 'pagination'],
  Rely: ['errors', 'idempotent-retry', 'limits', 'suppressions', 'unsubscribe', 'never'],
  More: ['clients', 'changelog'],
} as const

export type GuideName = (typeof guideGroups)[keyof typeof guideGroups][number]

export const guideNames: readonly GuideName[] = Object.values(guideGroups).flat()
