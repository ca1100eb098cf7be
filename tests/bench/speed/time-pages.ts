import { Pool } from 'undici'
import type { StartedApi } from '../stage.ts'

const pages = 40

/** Asks for the first pages of 100 of a list, one after the other. @returns the milliseconds of each. */
export async function timePages(
  api: StartedApi,
  apiKey: string,
  path: string,
  filter: Record<string, string> = {},
): Promise<number[]> {
  const pool = new Pool(api.url)
  const ms: number[] = []
  let after: string | null = null
  for (let page = 0; page < pages; page++) {
    const query = new URLSearchParams({ ...filter, limit: '100', ...(after !== null && { after }) })
    const startedAt = performance.now()
    const { statusCode, body } = await pool.request({
      path: `${path}?${query}`,
      method: 'GET',
      headers: { Authorization: `Bearer ${apiKey}` },
    })
    const answer = (await body.json()) as { next: string | null }
    ms.push(performance.now() - startedAt)
    if (statusCode !== 200) throw new Error(`not listed: ${statusCode} ${JSON.stringify(answer)}`)
    after = answer.next
    if (after === null) break
  }
  await pool.close()
  return ms
}
