/** The fields of an answer's JSON object; none where it is something else. Their values may be anything. */
export function fieldsOf(json: string): Record<string, unknown> {
  try {
    return Object(JSON.parse(json))
  } catch {
    return {}
  }
}
