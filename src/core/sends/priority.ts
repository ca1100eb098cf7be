/** What goes first among the sends of a channel that may go, the most urgent first (docs/explanation/delivery.md#priority). */
export const priorities = ['urgent', 'normal', 'bulk'] as const

export type Priority = (typeof priorities)[number]

export const defaultPriority = 'normal' satisfies Priority

/** While sends of both kinds wait for permits, one permit in so many goes to those that are less urgent. */
export const oneInTen = 10
