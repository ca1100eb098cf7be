import type { GuideName } from '../docs/guide.ts'

interface Tag {
  description: string
  /** The guide about it, and its title. */
  guide: readonly [GuideName, string]
}

/** The groups of routes, in the order of the document. */
export const tags = {
  Messages: {
    description:
      'Send messages now or later, move and cancel them, list them, and read their state and timeline.',
    guide: ['first-send', 'First send'],
  },
  Channels: {
    description: 'An account sends by its channels, templates and flows.',
    guide: ['first-send', 'First send'],
  },
  Endpoints: {
    description: 'Where an account gets callbacks about its sends, and how they go.',
    guide: ['callbacks', 'Callbacks, and how to verify them'],
  },
  Suppressions: {
    description: 'Suppressed contacts of an account.',
    guide: ['suppressions', 'Suppressed contacts'],
  },
  Keys: {
    description: 'The API key that a client has.',
    guide: ['first-send', 'First send'],
  },
  Usage: {
    description: 'How many messages an account sent, and their segments.',
    guide: ['limits', 'Limits'],
  },
  Callbacks: {
    description: 'Calls to the endpoints of an account.',
    guide: ['callbacks', 'Callbacks, and how to verify them'],
  },
  Receipts: {
    description: 'Providers report the result of a message after they have accepted it.',
    guide: ['receipts', 'What receipts mean'],
  },
  Media: { description: 'Links for providers.', guide: ['media', 'Media'] },
  Health: { description: 'For load balancers.', guide: ['errors', 'Errors'] },
  Documentation: {
    description: 'This document, and the guides.',
    guide: ['clients', 'Clients'],
  },
} as const satisfies Record<string, Tag>

export type TagName = keyof typeof tags
