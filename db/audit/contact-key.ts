/** SQL of the id by which a row says whose contact was seen, or whose suppression was changed: the audit never has the contact. */
export const contactKey = (row: string) =>
  `coalesce(${row}.details->>'conversationId', ${row}.details->>'requestId', ${row}.details->>'suppressionId')`
