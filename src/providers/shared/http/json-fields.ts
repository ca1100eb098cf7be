/** The fields of a JSON object; none if the text is anything else. */
export function jsonFieldsOf(json: string): Record<string, unknown> {
  try {
    return Object(JSON.parse(json))
  } catch {
    return {}
  }
}
