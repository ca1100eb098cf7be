import type { Context } from 'hono'
import { PageError } from '../errors.tsx'

/** What a form was sent with. */
export async function fieldsOf(c: Context): Promise<Record<string, unknown>> {
  try {
    return await c.req.parseBody()
  } catch {
    throw new PageError(400, 'That form could not be read. Open the page again and send it once more.')
  }
}
