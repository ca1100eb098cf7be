/** Limit of the rows that a periodic task works on in one statement. */
export const pageSize = 500
