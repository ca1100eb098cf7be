/** A heading of a guide and what follows it, for the search. */
export interface Section {
  id: string
  heading: string
  text: string
}

/** A guide of docs/client, as HTML. */
export interface Guide {
  name: string
  title: string
  html: string
  sections: Section[]
}

/** In the order in which a client needs them. */
export const guideNames = [
  'first-send',
  'errors',
  'idempotent-retry',
  'templates',
  'media',
  'mail',
  'later-and-cancel',
  'login-code',
  'batch',
  'list',
  'callbacks',
  'receipts',
  'suppressions',
  'limits',
  'typed-clients',
] as const

export type GuideName = (typeof guideNames)[number]
