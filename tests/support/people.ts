import { request } from 'node:http'
import { text } from 'node:stream/consumers'
import { addPerson } from '../../db/people/people.ts'
import { hashPassword } from '../../src/core/accounts/password.ts'
import type { Role } from '../../src/core/accounts/person.ts'
import type { TestAdmin } from './admin.ts'
import { textOf } from './pages.ts'
import type { TestService } from './service.ts'

export const password = 'correct horse battery staple'
/** Hashed once, and at little cost: people of tests may share it. */
let hash: Promise<string> | undefined

export async function buildPerson(
  service: Pick<TestService, 'runtime'>,
  name: string,
  role: Role,
): Promise<void> {
  hash ??= hashPassword(password, { N: 16, r: 1, p: 1 })
  await addPerson(service.runtime.db, { name, role }, await hash)
}

export interface Answer {
  status: number
  location: string | undefined
  cookie: string | undefined
  headers: NodeJS.Dict<string | string[]>
  html: string
  text: string
}

interface Asked {
  method?: string
  headers?: Record<string, string | string[]>
  /** Sends a form as a browser does from a page of the same origin. */
  form?: Record<string, string>
  /** An address of this machine. */
  from?: string
}

/** A request from any address of this machine, with any headers, as fetch doesn't let one. */
export async function ask(admin: TestAdmin, path: string, asked: Asked = {}): Promise<Answer> {
  const { form, from: localAddress = '127.0.0.1', method = form ? 'POST' : 'GET' } = asked
  const headers = {
    ...(form && { Origin: admin.url, 'Content-Type': 'application/x-www-form-urlencoded' }),
    ...asked.headers,
  }
  return await new Promise((resolve, reject) => {
    const sent = request(
      admin.url + path,
      { method, headers, localAddress, agent: false },
      async (response) => {
        const html = await text(response)
        const { statusCode: status = 0, headers: answered } = response
        const [cookie] = answered['set-cookie'] ?? []
        resolve({ status, location: answered.location, cookie, headers: answered, html, text: textOf(html) })
      },
    )
    sent.on('error', reject)
    sent.end(form && String(new URLSearchParams(form)))
  })
}

/** @returns the headers of a browser in which the person is signed in. */
export async function signIn(admin: TestAdmin, name: string, asked: Asked = {}): Promise<{ Cookie: string }> {
  const {
    status,
    cookie = '',
    text: said,
  } = await ask(admin, '/login', { ...asked, form: { name, password } })
  if (status !== 303) throw new Error(`${name} was not signed in: ${status} ${said}`)
  return { Cookie: cookie.split(';')[0] ?? '' }
}
