/** Without a beat for so long a worker counts as dead, and its claims as lost. */
export const leaseMs = 8000

/** A longer gap between two of a worker's beats says that PostgreSQL, or that worker, was away. */
export const longestGapMs = 4000
