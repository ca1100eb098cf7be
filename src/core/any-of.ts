const disjunction = new Intl.ListFormat('en-GB', { type: 'disjunction' })

/** `a, b or c` */
export const anyOf = (words: readonly string[]): string => disjunction.format(words)

const conjunction = new Intl.ListFormat('en-GB', { type: 'conjunction' })

/** `a, b and c` */
export const allOf = (words: readonly string[]): string => conjunction.format(words)
