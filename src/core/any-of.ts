const disjunction = new Intl.ListFormat('en-GB', { type: 'disjunction' })

/** `a, b or c` */
export const anyOf = (words: readonly string[]): string => disjunction.format(words)
