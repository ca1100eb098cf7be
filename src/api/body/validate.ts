import { zValidator } from '@hono/zod-validator'
import type { MiddlewareHandler } from 'hono'
import { type ApiEnv, factory } from '../context.ts'
import { ApiError } from '../errors.ts'
import { type LargeBodies, smallBytes } from './large/large-bodies.ts'
import {
  type BodyFault,
  type BodyForm,
  type BodySchemas,
  faultOf,
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
      if (!result.success) throw refusal(faultOf(result.error))
    },
    { validationFunction: parseBody },
  ) as unknown as MiddlewareHandler<ApiEnv>
  return factory.createMiddleware(async (c, next) => {
    const body = c.get('body')
    if (lengthOf(body) > smallBytes) {
      const resumeIdleTimeout = pauseIdleTimeout(c.env.incoming)
      const continueWith = (parsed: Parsed) => {
        if ('fault' in parsed) throw refusal(parsed)
        c.set('request', parsed.request)
        return next()
      }
      await large.parse(body, form, c.get('caller').accountId, continueWith).finally(resumeIdleTimeout)
      return
    }
    const read = textOf(joined(body))
    if ('fault' in read) throw refusal(read)
    // Hono's validator reads the text from here. Its own decoding would replace invalid UTF-8 by U+FFFD.
    c.req.bodyCache.text = Promise.resolve(read.text) as unknown as string
    await bySchema(c, async () => {
      // After the schema, which names the field that is too deep. It only passes if the field is given twice, the last time valid.
      if (read.isTooDeep) throw refusal(tooDeep)
      c.set('request', c.req.valid('json' as never))
      await next()
    })
  })
}

const refusal = ({ fault, reason }: BodyFault) => new ApiError(400, fault, {}, reason)
