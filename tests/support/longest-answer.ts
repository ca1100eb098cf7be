/** Within which the API answers, whatever is away. */
export const longestAnswerMs = 1500
