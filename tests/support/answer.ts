export interface Answer {
  status: number
  headers: Headers
  // biome-ignore lint/suspicious/noExplicitAny: tests read bodies of every form
  body: any
}

/** All answers that came on one connection, one after the other, each with its length. */
export function answersIn(bytes: Buffer): Answer[] {
  const answers: Answer[] = []
  for (let rest = bytes.toString('latin1'); rest.includes('\r\n\r\n'); ) {
    const [head = ''] = rest.split('\r\n\r\n', 1)
    const [statusLine = '', ...lines] = head.split('\r\n')
    const headers = new Headers(lines.map((line) => line.split(': ', 2) as [string, string]))
    const bodyAt = head.length + 4
    const end = bodyAt + Number(headers.get('Content-Length'))
    answers.push({
      status: Number(statusLine.split(' ')[1]),
      headers,
      body: parse(rest.slice(bodyAt, end)),
    })
    rest = rest.slice(end)
  }
  return answers
}

/** The text itself where it isn't JSON. */
export function parse(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return text
  }
}
