import { zValidator } from '@hono/zod-validator'
import type { MiddlewareHandler } from 'hono'
import { type LargeBodies, smallBytes } from '../body/large-bodies.ts'
import {
  type BodyFault,
  type BodyForm,
  type BodySchemas,
  faultOf,
  type Parsed,
  parseBody,
  textOf,
  tooDeep,
} from '../body/parse-body.ts'
import { inOne, lengthOf } from '../body/pieces.ts'
import { excuseSilence } from '../body/receive.ts'
import { type ApiEnv, factory } from '../context.ts'
import { ApiError } from '../errors.ts'

/**
 * Parses the body by its schema; a 400 names every faulty field (docs/reference/api.md#body). A large body is parsed in a thread
 * of its own, in its turn.
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
      const endExcuse = excuseSilence(c.env.incoming)
      const pass = (parsed: Parsed) => {
        if ('fault' in parsed) throw refusal(parsed)
        c.set('asked', parsed.asked)
        return next()
      }
      await large.parse(body, form, c.get('caller').accountId, pass).finally(endExcuse)
      return
    }
    const read = textOf(inOne(body))
    if ('fault' in read) throw refusal(read)
    // Hono's validators take the text from here; left to themselves they would replace invalid UTF-8 by U+FFFD.
    c.req.bodyCache.text = Promise.resolve(read.text) as unknown as string
    await bySchema(c, async () => {
      // Behind the schema, which names the field: it passes only one that is given twice, and well the last time.
      if (read.isTooDeep) throw refusal(tooDeep)
      c.set('asked', c.req.valid('json' as never))
      await next()
    })
  })
}

const refusal = ({ fault, reason }: BodyFault) => new ApiError(400, fault, {}, reason)
