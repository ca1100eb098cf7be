import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import type { ClientOptions } from '../../sdk/typescript/src/index.ts'

/** A call as the programs that run the cases take it. */
export interface Call {
  client?: Partial<ClientOptions>
  call?: string
  list?: string
  args?: unknown[]
  query?: object
  options?: { idempotencyKey?: string | null }
  verify?: object
}

export interface Result {
  answer?: unknown
  error?: { class: string; [field: string]: unknown }
}

export interface Runner {
  run(call: Call): Promise<Result>
  stop(): Promise<void>
}

/** The programs that run the cases: each client, in each way in which it is called. */
export const languages = {
  typescript: { program: process.execPath, args: ['--import', 'tsx', 'tests/sdk/run-cases.ts'] },
  python: { program: 'python3', args: ['tests/sdk/run_cases.py'] },
  asyncio: { program: 'python3', args: ['tests/sdk/run_cases.py', '--asyncio'] },
}

export type Language = keyof typeof languages

export const isLanguage = Object.keys(languages) as Language[]

/** Starts the program of a language. It runs any number of calls at once. */
export function startRunner(language: Language): Runner {
  const { program, args } = languages[language]
  const child = spawn(program, args, { stdio: ['pipe', 'pipe', 'inherit'] })
  const waiting = new Map<number, (result: Result) => void>()
  createInterface(child.stdout).on('line', (line) => {
    const { id, ...result } = JSON.parse(line)
    waiting.get(id)?.(result)
  })
  const ended = once(child, 'exit').then(
    ([code]) => new Error(`The program of ${language} ended with ${code}.`),
    ({ message }) => new Error(`${program} does not start (${message}): install it, as .ci/run does.`),
  )
  // It is written to after its end, too.
  child.stdin.on('error', () => {})
  let last = 0
  return {
    run: (call) =>
      new Promise((resolve, reject) => {
        const id = last++
        waiting.set(id, resolve)
        ended.then(reject)
        child.stdin.write(`${JSON.stringify({ id, ...call })}\n`)
      }),
    async stop() {
      child.stdin.end()
      await ended
    },
  }
}
