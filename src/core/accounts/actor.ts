/** By what a change is made: an admin page, a command, or a route of the API. */
const actorVias = ['page', 'cli', 'route'] as const
export type ActorVia = (typeof actorVias)[number]

/** Who makes a change, and from where. Recorded with it (docs/reference/admin.md#audit). */
export interface Actor {
  /** A person's name; of a route, the display prefix of the API key. */
  by: string
  via: ActorVia
  /** The client's address; for a command, the machine's name. */
  address: string | null
}
