import { createInterface } from 'node:readline'
import { Writable } from 'node:stream'
import { text } from 'node:stream/consumers'
import { CliError } from './answer.ts'

/** The source of a secret: stdin, a terminal or not. */
export type SecretInput = NodeJS.ReadableStream & { isTTY?: boolean }

/**
 * Reads a secret: on a terminal it asks twice, without echo; else the whole input is the secret, but for a line break at its end.
 *
 * @param ask shows a question. Not on stdout, which is for the answer.
 */
export async function readSecret(
  input: SecretInput,
  ask: (question: string) => void,
  name: string,
): Promise<string> {
  if (!input.isTTY) return (await text(input)).replace(/\r?\n$/, '')
  const lines = createInterface({ input, output: nowhere(), terminal: true })
  const answers = lines[Symbol.asyncIterator]()
  const answerTo = async (question: string) => {
    ask(`${question}: `)
    const { done, value } = await answers.next()
    ask('\n')
    if (done) throw new CliError('usage', 'Nothing was changed; run the command again')
    return value
  }
  try {
    const secret = await answerTo(name)
    if ((await answerTo(`${name} again`)) === secret) return secret
    throw new CliError('usage', 'The two were not the same, and nothing was changed; run the command again')
  } finally {
    lines.close()
  }
}

/** The output for readline, which with `terminal` turns the terminal's echo off and echoes here instead. */
const nowhere = () => new Writable({ write: (_chunk, _encoding, done) => done() })
