import { sql } from 'drizzle-orm'
import { expect, test } from 'vitest'
import { addSuppression } from '../../db/suppression/entries.ts'
import { permissions } from '../../src/core/accounts/api-key.ts'
import { ask } from '../support/account-routes.ts'
import { accept, buildAccount, buildKey, newContact, textBody } from '../support/builders.ts'
import { buildEndpoint } from '../support/endpoints.ts'
import { expectError, inTime } from '../support/expect-error.ts'
import { inSeconds } from '../support/later.ts'
import { document } from '../support/openapi.ts'
import { serviceOfFile, testSuppressionKey } from '../support/service.ts'

const service = await serviceOfFile()
const { db } = service.runtime
const owner = await buildAccount(service, { permissions: [...permissions] })
const other = await buildAccount(service, { permissions: [...permissions] })
const none = await buildKey(service, owner.accountId, { permissions: [] })
const revoked = await buildKey(service, owner.accountId, { permissions: [...permissions], revoked: true })

const suppressed = {
  accountId: owner.accountId,
  contact: { type: 'phone', value: newContact() },
  channelId: null,
} as const
const ids: Record<string, string> = {
  channelId: owner.channelId,
  requestId: await accept(service, owner, { ...textBody(), sendAt: inSeconds(3600) }),
  endpointId: (await buildEndpoint(service, owner.accountId, 'https://example.com/in')).endpointId,
  suppressionId: (await addSuppression(db, suppressed, null, testSuppressionKey)).entry.suppressionId,
}

function idOf(name: string): string {
  const id = ids[name]
  if (id === undefined) throw new Error(`Add an id for {${name}} to this test`)
  return id
}

interface RequestBody {
  content: { 'application/json': { examples: Record<string, { value: object }> } }
}

/** The first example of a body. */
const exampleOf = (body: RequestBody | undefined) =>
  Object.values(body?.content['application/json'].examples ?? {})[0]?.value

const routes = Object.entries(document.paths).flatMap(([template, operations]) =>
  Object.entries(operations)
    .filter(([, { security = [] }]) => security.length > 0)
    .map(([method, { requestBody }]) => ({
      route: `${method} ${template}`,
      method: method.toUpperCase(),
      path: template.replace(/\{(\w+)\}/, (_, name) => idOf(name)),
      body: exampleOf(requestBody as RequestBody | undefined),
    })),
)
const ofOneThing = routes.filter(({ route }) => route.includes('{'))

async function answerTo(...asked: Parameters<typeof ask>) {
  const [answer] = inTime([await ask(...asked)])
  return answer as NonNullable<typeof answer>
}

/** Everything that the routes change, of all accounts. */
async function everything(): Promise<unknown> {
  const tables = ['sends', 'scheduled_sends', 'endpoints', 'callbacks', 'suppressions', 'channels', 'audit']
  const read = tables.map((table) => db.execute(sql.raw(`select * from ${table} order by 1`)))
  return (await Promise.all(read)).map(({ rows }) => rows)
}

test('every route under /v1 wants a key', () => {
  const open = Object.keys(document.paths).filter(
    (template) => template.startsWith('/v1/') && !routes.some(({ route }) => route.endsWith(` ${template}`)),
  )
  expect(open).toEqual([])
})

test.each(routes)('$route is a 401 for a revoked key, a 403 for one without permissions', async (given) => {
  const { method, path, body } = given
  const before = await everything()
  expectError(await answerTo(service, revoked, method, path, body), 401)
  expectError(await answerTo(service, none, method, path, body), 403)
  expect(await everything()).toEqual(before)
})

test.each(ofOneThing)('$route is a 404 for another account, which changes nothing', async (given) => {
  const { method, path, body } = given
  const before = await everything()
  expectError(await answerTo(service, other, method, path, body), 404)
  expect(await everything()).toEqual(before)
})

test.each(ofOneThing.filter(({ method }) => method === 'GET'))(
  '$route is a 200 for its own account',
  async (given) => {
    expect((await answerTo(service, owner, given.method, given.path)).status).toBe(200)
  },
)
