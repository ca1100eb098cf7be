import type { HttpAnswer } from '../../shared/http/http-call.ts'
import type { Location } from '../form/parts.ts'
import type { ProviderForm } from '../form.ts'

/** A refusal with this code at the first place where the file looks for one. */
export function answerWithCode({ answer: { code = [] } }: ProviderForm, value: string): HttpAnswer {
  const [place] = code
  const at: Location = place ?? ''
  const header = typeof at === 'object' && 'header' in at ? at.header.toLowerCase() : undefined
  return {
    kind: 'answer',
    status: 400,
    headers: header === undefined ? {} : { [header]: value },
    body: JSON.stringify(typeof at === 'string' ? withValue(at, value) : {}),
    isWhole: true,
    at: 0,
  }
}

/** JSON that has a value at a pointer. A number is the index of a list. */
function withValue(pointer: string, value: unknown): unknown {
  return pointer
    .split('/')
    .slice(1)
    .reverse()
    .reduce<unknown>((within, part) => {
      const name = part.replaceAll('~1', '/').replaceAll('~0', '~')
      if (!/^\d+$/.test(name)) return { [name]: within }
      const list: unknown[] = Array(Number(name)).fill(null)
      return [...list, within]
    }, value)
}
