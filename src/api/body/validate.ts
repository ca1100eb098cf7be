import { zValidator } from '@hono/zod-validator'
import type { Context, MiddlewareHandler, Next } from 'hono'
import { type ApiEnv, factory } from '../context.ts'
import { ApiError } from '../errors.ts'
import { type LargeBodies, smallBytes } from './large/large-bodies.ts'
import {
  type BodyForm,
  type BodyIssue,
  type BodySchemas,
  issueOf,
  maxFieldsOf,
  type Parsed,
  parseBody,
  textOf,
  tooDeep,
} from './parse-body.ts'
import { joined, lengthOf } from './pieces.ts'
import { pauseIdleTimeout } from './receive.ts'

/**
 * Parses the body by its schema; a 400 names every faulty field (docs/reference/api.md#body). Large bodies are parsed in a
 * thread, one after the other.
 */
export function validate(form: BodyForm, schemas: BodySchemas, large: LargeBodies) {
  const bySchema = zValidator(
    'json',
    schemas[form],
    (result) => {
      if (!result.success) throw refusal(issueOf(result.error))
    },
    { validationFunction: parseBody },
  ) as unknown as MiddlewareHandler<ApiEnv>
  const parseHere = async (c: Context<ApiEnv>, next: Next) => {
    const read = textOf(joined(c.get('body')), maxFieldsOf(form))
    if ('issue' in read) throw refusal(read)
    setText(c, read.text)
    await bySchema(c, async () => {
      // After the schema, which names the field that is too deep. It only passes if the field is given twice, the last time valid.
      if (read.isTooDeep) throw refusal(tooDeep)
      c.set(form === 'batch' ? 'requests' : 'request', c.req.valid('json' as never))
      await next()
    })
  }
  const parseInThread = async (c: Context<ApiEnv>, next: Next) => {
    const resumeIdleTimeout = pauseIdleTimeout(c.env.incoming)
    const continueWith = (parsed: Parsed) => {
      if ('issue' in parsed) throw refusal(parsed)
      if ('requests' in parsed) c.set('requests', parsed.requests)
      else c.set('request', parsed.request)
      return next()
    }
    const { accountId } = c.get('caller')
    await large.parse(c.get('body'), form, accountId, continueWith).finally(resumeIdleTimeout)
  }
  return factory.createMiddleware((c, next) =>
    lengthOf(c.get('body')) > smallBytes ? parseInThread(c, next) : parseHere(c, next),
  )
}

/**
 * Sets the text that Hono's validator parses, where Hono keeps the text of a body that was read before. The body was read in
 * pieces by `readBody`; Hono's own decoding would replace invalid UTF-8 by U+FFFD.
 */
function setText({ req }: Context<ApiEnv>, text: string): void {
  req.bodyCache.text = Promise.resolve(text) as unknown as string
}

export const refusal = ({ issue, reason }: BodyIssue) => new ApiError('invalid_body', issue, {}, reason)
