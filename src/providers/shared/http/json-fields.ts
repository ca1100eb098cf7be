/** The fields of a JSON object; none if the text is anything else. */
export function jsonFieldsOf(json: string): Record<string, unknown> {
  try {
    return Object(JSON.parse(json))
  } catch {
    return {}
  }
}

/** The value if it is a text that isn't empty. */
export const textIn = (value: unknown): string | undefined =>
  typeof value === 'string' && value !== '' ? value : undefined
