import type { Answer } from './answer.ts'
import { type Account, type Api, request } from './builders.ts'

/** Asks a route of what an account has. */
export async function ask(
  service: Api,
  by: Pick<Account, 'apiKey'>,
  method: string,
  path: string,
  body?: unknown,
  headers: Record<string, string> = {},
): Promise<Answer> {
  return await request(service, path, {
    method,
    headers: {
      Authorization: `Bearer ${by.apiKey}`,
      ...(body !== undefined && { 'Content-Type': 'application/json' }),
      ...headers,
    },
    ...(body !== undefined && { body: typeof body === 'string' ? body : JSON.stringify(body) }),
  })
}

/** The items of all pages of a list, in their order. @param limit of a page. */
export async function allPages(
  service: Api,
  by: Pick<Account, 'apiKey'>,
  path: string,
  items: string,
  limit = 2,
  // biome-ignore lint/suspicious/noExplicitAny: tests read items of every form
): Promise<any[]> {
  const found: unknown[] = []
  for (let after: string | null | undefined; after !== null; ) {
    const query = new URLSearchParams({ limit: String(limit), ...(after && { after }) })
    const { status, body } = await ask(service, by, 'GET', `${path}${path.includes('?') ? '&' : '?'}${query}`)
    if (status !== 200) throw new Error(`Not listed: ${JSON.stringify(body)}`)
    found.push(...body[items])
    after = body.next
  }
  return found
}
