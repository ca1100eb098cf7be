import { zValidator } from '@hono/zod-validator'
import type { z } from 'zod'
import { describeFaults, describeIssue } from '../core/faults.ts'
import type { SendRequest } from '../core/send-request.ts'
import { ApiError } from './errors.ts'

/** Parses the JSON body by its schema; a 400 names every faulty field (docs/api.md#body). */
export function validate(schema: z.ZodType<SendRequest>) {
  return zValidator(
    'json',
    schema,
    (result) => {
      if (result.success) return
      const { issues } = result.error
      throw new ApiError(400, describeFaults(issues), {}, describeFaults(issues, 'unnamed'))
    },
    // Synchronous: zod compiles its parsers only for that.
    { validationFunction: (by, value) => by.safeParse(value, { error: describeIssue }) },
  )
}
