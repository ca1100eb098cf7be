import type { Emulator } from '../../shared/dev/emulator.ts'
import {
  type EmulatedAnswer,
  type EmulatedResponse,
  httpEmulator,
  type ReceivedCall,
} from '../../shared/dev/http-emulator.ts'
import type { CompiledFile } from '../compile.ts'

/** Starts a server that answers as the examples of a provider's file do: as that of an accepted message, unless it is told otherwise. */
export function openFileEmulator({ form }: CompiledFile): Promise<Emulator<ReceivedCall, EmulatedAnswer>> {
  const accepted = answerOf(form, 'sent')
  return httpEmulator<ReceivedCall>({
    config: (baseUrl) => ({ ...form.examples.config, baseUrl }),
    read: (call) => call,
    answer: () => accepted,
  })
}

/** The answer of the first example with this outcome. */
export function answerOf({ examples }: CompiledFile['form'], outcome: string): EmulatedResponse {
  const example = examples.sends.find((one) => one.outcome?.outcome === outcome)
  if (!example?.answer) throw new Error(`No example of the file is ${outcome}`)
  const { status, headers, body } = example.answer
  return { status, ...(headers && { headers }), body: body as object | string | undefined }
}
