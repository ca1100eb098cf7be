/** Fields by their names in lower case. The first of a repeated field counts. */
export type Fields = Map<string, string>

/** Any of them begins the fields of a recipient, so that a report needs neither blank lines nor fields about the mail. */
const beginners = ['final-recipient', 'original-recipient', 'action']

/** The content of a `message/delivery-status`: https://www.rfc-editor.org/rfc/rfc3464#section-2 */
export interface StatusFields {
  aboutMail: Fields
  /** One for each recipient. */
  aboutRecipients: Fields[]
}

/** Reads the fields as mail systems write them: with or without blank lines, in any order, with a space before the colon. */
export function statusFieldsIn(text: string): StatusFields {
  const aboutMail: Fields = new Map()
  const aboutRecipients: Fields[] = []
  let current = aboutMail
  let isAfterBlank = false
  for (const line of unfolded(text)) {
    const [name, value] = fieldOf(line)
    if (name === '') {
      isAfterBlank ||= line.trim() === ''
      continue
    }
    const isNext = current === aboutMail || current.has(name) || (isAfterBlank && current.has('action'))
    if (beginners.includes(name) && isNext) {
      current = new Map()
      aboutRecipients.push(current)
    }
    isAfterBlank = false
    if (!current.has(name)) current.set(name, value)
  }
  return { aboutMail, aboutRecipients }
}

/** The headers of a mail. */
export function headersIn(mail: string): Fields {
  const headers: Fields = new Map()
  for (const line of unfolded(mail.split(/\r?\n\r?\n/, 1)[0] ?? '')) {
    const [name, value] = fieldOf(line)
    if (name !== '' && !headers.has(name)) headers.set(name, value)
  }
  return headers
}

/** Lines, each with those that go on with it. */
function unfolded(text: string): string[] {
  const lines: string[] = []
  for (const line of text.split(/\r?\n/)) {
    const last = lines.length - 1
    const isMore = /^[ \t]/.test(line) && line.trim() !== '' && last >= 0 && lines[last] !== ''
    if (isMore) lines[last] += ` ${line.trim()}`
    else lines.push(line.trim() === '' ? '' : line)
  }
  return lines
}

/** Not by one pattern: what follows the name may be megabytes long, and anyone may write it. */
function fieldOf(line: string): [name: string, value: string] {
  const [name = ''] = /^[\w-]+(?=[ \t]*:)/.exec(line) ?? []
  return [name.toLowerCase(), line.slice(line.indexOf(':') + 1).trim()]
}
