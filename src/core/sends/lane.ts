export const orderings = ['contact', 'none'] as const

/** Whether a channel's sends to one contact go in the order in which they were accepted (docs/explanation/delivery.md#lanes). */
export type Ordering = (typeof orderings)[number]
