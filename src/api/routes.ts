import { z } from 'zod'
import { channelRoutes } from './routes/channels.ts'
import { endpointRoutes } from './routes/endpoints.ts'
import { keyRoutes } from './routes/key.ts'
import { messageRoutes } from './routes/messages.ts'
import { receiptRoutes } from './routes/receipts.ts'
import type { Route } from './routes/route.ts'
import { named, text } from './routes/schemas.ts'
import { sendRoutes } from './routes/sends.ts'
import { serviceRoutes } from './routes/service.ts'
import { suppressionRoutes } from './routes/suppressions.ts'
import { unsubscribeRoutes } from './routes/unsubscribe.ts'
import { usageRoutes } from './routes/usage.ts'

const clientRoutes = {
  ...sendRoutes,
  ...messageRoutes,
  ...channelRoutes,
  ...endpointRoutes,
  ...suppressionRoutes,
  ...unsubscribeRoutes,
  ...keyRoutes,
  ...usageRoutes,
  ...receiptRoutes,
}

/** `/v1/messages/{requestId}`, as OpenAPI has the path `/v1/messages/:requestId`. */
export const templateOf = (path: string): string => path.replaceAll(/:(\w+)/g, '{$1}')

/** The body of `GET /`, for a person who opens the address of the API: the routes to begin with. */
function indexOf(routes: Record<string, Route>): Record<string, { what: string; value: string | string[] }> {
  const index: ReturnType<typeof indexOf> = {
    service: { what: 'The name of the service.', value: 'Outbound Messaging API' },
  }
  for (const { method, path, permissions, index: place } of Object.values(routes)) {
    if (!place) continue
    const route = permissions ? `${method.toUpperCase()} ${templateOf(path)}` : path
    const before = index[place.name]?.value
    index[place.name] = { what: place.what, value: before === undefined ? route : [before, route].flat() }
  }
  return index
}

const listed = Object.entries(indexOf({ ...serviceRoutes, ...clientRoutes }))
export const index = Object.fromEntries(listed.map(([name, { value }]) => [name, value]))
const indexSchema = z.strictObject(
  Object.fromEntries(
    listed.map(([name, { what, value }]) => [
      name,
      Array.isArray(value) ? z.array(z.string()).describe(what) : text(what),
    ]),
  ),
)

/** The one table of the routes of the API. */
export const routes = {
  ...clientRoutes,
  getIndex: {
    method: 'get',
    path: '/',
    tag: 'Documentation',
    isInternal: true,
    summary: 'The paths of the API',
    description: 'Where to begin. It needs no API key.',
    answer: { what: 'The paths to begin with.', schema: named('Index', indexSchema), example: index },
  },
  ...serviceRoutes,
} as const satisfies Record<string, Route>

export type RouteName = keyof typeof routes

/** The routes of a service with these settings, by their names. */
export const routesOf = (settings: { PUBLIC_BASE_URL?: string | undefined }): [RouteName, Route][] =>
  Object.entries<Route>(routes).filter(
    ([, { needsPublicUrl }]) => !needsPublicUrl || settings.PUBLIC_BASE_URL !== undefined,
  ) as [RouteName, Route][]

/** The methods that a path takes, as its 405 names them. Another route with an id in its place may take it, too. */
export function methodsAt(path: string): string[] {
  const parts = path.split('/')
  const isAt = (route: Route) => {
    const own = route.path.split('/')
    return own.length === parts.length && own.every((part, n) => part === parts[n] || part.startsWith(':'))
  }
  const methods = Object.values<Route>(routes)
    .filter(isAt)
    .flatMap(({ method }) => (method === 'get' ? ['GET', 'HEAD'] : [method.toUpperCase()]))
  return [...new Set(methods)]
}
