import type { Context } from 'hono'
import { PageError } from '../errors.tsx'

export async function fieldsOf(c: Context): Promise<Record<string, unknown>> {
  try {
    return await c.req.parseBody()
  } catch {
    throw new PageError(400, 'This form could not be read. Open the page again and submit it once more.')
  }
}
