import { expect, test } from 'vitest'
import type { Route } from '../../../src/api/routes/route.ts'
import { index, methodsAt, routes } from '../../../src/api/routes.ts'
import { rowsOf } from './table-rows.ts'

/** The routes of a cell such as `` `GET`, `PATCH /v1/x/:id`, `/test` ``: a method may stand before its path, a path may end another. */
function routesIn(cell: string): string[] {
  const found: string[] = []
  let methods: string[] = []
  let lastPath = ''
  for (const [, text = ''] of cell.matchAll(/`([^`]+)`/g)) {
    const [, method, path] = /^([A-Z]+)? ?(\/\S*)?$/.exec(text) ?? []
    if (method !== undefined) methods = lastPath === '' ? [...methods, method] : [method]
    if (path === undefined) continue
    lastPath = method === undefined ? lastPath.replace(/\/[^/]+$/, path) : path
    found.push(...methods.map((each) => `${each} ${lastPath}`))
  }
  return found
}

const permissionsIn = (cell: string) => [...cell.matchAll(/`([^`]+)`/g)].map(([, name]) => name)

const documented = rowsOf('docs/reference/api.md', '| Route | What it does | Permission |').flatMap(
  ([cell = '', , permission = '']) =>
    routesIn(cell).map((route) => ({ route, permissions: permissionsIn(permission) })),
)

test('docs/reference/api.md has each route with its permissions, and no other', () => {
  const served = Object.values<Route>(routes).map(({ method, path, permissions = [] }) => ({
    route: `${method.toUpperCase()} ${path}`,
    permissions,
  }))
  const inOrder = (list: { route: string }[]) => list.toSorted((a, b) => a.route.localeCompare(b.route))
  expect(inOrder(documented)).toEqual(inOrder(served))
})

test('a 405 names each method of a path, also that of a route with an id in its place', () => {
  expect(methodsAt('/v1/endpoints')).toEqual(['GET', 'HEAD', 'POST'])
  expect(methodsAt('/v1/messages/batch')).toEqual(['POST', 'GET', 'HEAD', 'PATCH'])
  expect(methodsAt('/v1/messages/:requestId')).toEqual(['GET', 'HEAD', 'PATCH'])
})

test('the index names a route with its method, and one without a key by its path', () => {
  expect(index).toMatchObject({ docs: '/docs', move: 'PATCH /v1/messages/{requestId}' })
})
