import { createHmac } from 'node:crypto'
import type { MessageType } from '../../../core/messages/message.ts'
import type { Delivery } from '../../delivery.ts'
import { type HttpBody, jsonWithLargeBase64, piecesOf } from '../../shared/http/http-body.ts'
import type { CallContext, HttpRequest, TokenGrant } from '../../shared/http/http-call.ts'
import { multipartFields } from '../../shared/http/multipart.ts'
import type { ProviderForm } from '../form.ts'
import { configPartOf, type Facts, type FileConfig, isFromClient, sources } from './holes.ts'
import { tokenGrant } from './oauth2.ts'
import {
  compileTree,
  FilePart,
  fill,
  mailHeadersIn,
  type Node,
  needsText,
  omitted,
  sourcesIn,
  type Tree,
  type TreeRules,
} from './tree.ts'

/** A compiled request, with every source that its trees read. */
export interface FileRequest {
  /** @throws {UnfilledHole} if the message lacks what the request needs. */
  build(delivery: Delivery<FileConfig>, context: CallContext, receiptsUrl: string | undefined): HttpRequest
  sources: ReadonlySet<string>
  /** Undefined unless each call needs an access token. */
  grant: TokenGrant<FileConfig> | undefined
  /** The names, in small letters, of the headers of mails that the file sets. */
  mailHeaders: ReadonlySet<string>
  /** Whether no message of this type becomes a request without a text. */
  needsText(type: MessageType): boolean
}

type Issue = (path: string, message: string) => void

/** The rules for sources: only known ones, no secret outside of headers, and nothing of a client within them. */
function treeRules(
  { config, contacts }: ProviderForm,
  place: 'headers' | 'json' | 'fields' | 'multipart',
  issue: Issue,
): TreeRules {
  const fields = new Set([...Object.keys(config), ...(contacts.includes('email') ? ['subject'] : [])])
  return {
    issue,
    takes: { lists: place !== 'headers', files: place === 'multipart' },
    sourceIssue(source) {
      const ofConfig = configPartOf(source)
      if (source === 'media.base64' && place !== 'json')
        return 'media.base64 can stand only in json, where it is encoded piece by piece'
      if (!ofConfig)
        return Object.hasOwn(sources, source)
          ? place === 'headers' && isFromClient(source)
            ? `${source} can't stand in a header: only config, requestId, channelId, receiptsUrl and times can`
            : undefined
          : `no message has ${source || 'this'}: use one of ${Object.keys(sources).join(', ')} or config.FIELD`
      const { field, part } = ofConfig
      const declared = config[field]
      if (!fields.has(field)) return `the config has no field ${field}`
      if (part !== undefined && (declared?.as !== 'mailbox' || !['name', 'address'].includes(part)))
        return `config.${field} has no part ${part}: only a mailbox has name and address`
      if (declared?.secret && place !== 'headers')
        return `${field} is a secret: it can stand only in auth, headers and signatures`
      if (
        place === 'headers' &&
        (declared?.as === 'line' || declared?.as === 'mailbox') &&
        part !== 'address'
      )
        return `${field} may have letters that no header can have: use another form of field`
      return undefined
    },
  }
}

const asBase64 = (content: Buffer) => content.toString('base64')

/** Compiles the request of a file. Faults are reported. */
export function compileRequest(form: ProviderForm, issue: Issue): FileRequest {
  const { request } = form
  const inFields = treeRules(form, 'fields', issue)
  const compiled = (tree: unknown, path: string, rules = inFields) =>
    tree === undefined ? undefined : compileTree(tree as Tree, `/request/${path}`, rules)
  const headers = compiled(request.headers, 'headers', treeRules(form, 'headers', issue))
  const query = compiled(request.query, 'query')
  const json = compiled(request.json, 'json', treeRules(form, 'json', issue))
  const fields = request.form
    ? compiled(request.form, 'form')
    : compiled(request.multipart, 'multipart', treeRules(form, 'multipart', issue))
  checkPath(form, issue)
  const authorize = authOf(form, issue)
  const sign = signerOf(form, issue)
  const trees = [headers, query, json, fields].filter((node) => node !== undefined)

  return {
    sources: new Set(trees.flatMap(sourcesIn)),
    grant: 'oauth2' in request.auth ? tokenGrant(request.auth.oauth2) : undefined,
    mailHeaders: new Set(trees.flatMap(mailHeadersIn)),
    needsText: (type) => trees.some((tree) => needsText(tree, type)),
    build(delivery, context, receiptsUrl) {
      const facts: Facts = { delivery, context, receiptsUrl, encode: asBase64 }
      const { config } = delivery
      const auth = authorize(config, context)
      const path = request.path.replace(/\{config\.(\w+)\}/g, (_, name: string) =>
        encodeURIComponent(config[name] ?? ''),
      )
      const pairs = [...(query ? pairsIn(fill(query, facts)) : []), ...auth.query]
      const target = pairs.length === 0 ? path : `${path}?${new URLSearchParams(pairs)}`
      const { contentType, body } = bodyOf(
        { json, fields, isMultipart: request.multipart !== undefined },
        facts,
      )
      const own = headers ? (fill(headers, facts) as Record<string, unknown>) : {}
      const given = {
        ...(contentType && { 'content-type': contentType }),
        accept: 'application/json',
        ...Object.fromEntries(
          Object.entries(own).map(([name, value]) => [name.toLowerCase(), String(value)]),
        ),
        ...auth.headers,
      }
      const url = `${config.baseUrl}${target}`
      const { method } = request
      const signed = sign?.({ config, method, path: new URL(url).pathname, body, context })
      return { method, url, headers: signed ? { ...given, ...signed } : given, body }
    },
  }
}

function checkPath({ request, config }: ProviderForm, issue: Issue): void {
  for (const [, name = ''] of request.path.matchAll(/\{config\.(\w+)\}/g)) {
    const field = Object.hasOwn(config, name) ? config[name] : undefined
    if (!field) issue('/request/path', `the config has no field ${name}`)
    else if (field.secret) issue('/request/path', `${name} is a secret: it can't stand in an address`)
    else if (field.optional) issue('/request/path', `${name} is optional: the address needs it`)
  }
}

/** The names and values of a form or query; a list is a repeated name. */
export const pairsIn = (filled: unknown): [string, string][] =>
  partsIn(filled).map(([name, value]) => [name, String(value)])

/** The same, of multipart, which may have files. */
const partsIn = (filled: unknown): [string, string | FilePart][] =>
  Object.entries(Object(filled)).flatMap(([name, value]) =>
    [value]
      .flat()
      .map((one): [string, string | FilePart] => [name, one instanceof FilePart ? one : wordIn(one)]),
  )

const wordIn = (value: unknown) => (typeof value === 'object' ? JSON.stringify(value) : String(value))

function bodyOf(
  { json, fields, isMultipart }: { json: Node | undefined; fields: Node | undefined; isMultipart: boolean },
  facts: Facts,
): { contentType?: string; body: HttpBody } {
  if (json) {
    const body = jsonWithLargeBase64((encode) => {
      const filled = fill(json, { ...facts, encode })
      return filled === omitted ? null : filled
    })
    return { contentType: 'application/json', body }
  }
  if (!fields) return { body: '' }
  const filled = fill(fields, facts)
  if (isMultipart) return multipartFields(partsIn(filled))
  const body = new URLSearchParams(pairsIn(filled)).toString()
  return { contentType: 'application/x-www-form-urlencoded', body }
}

/** A field that auth or a proof names. It has to be there; the form of its value fits into a header. */
export function checkAuthField({ config }: ProviderForm, name: string, path: string, issue: Issue): void {
  const field = config[name]
  if (!field) issue(path, `the config has no field ${name}`)
  else if (field.as === 'line' || field.as === 'mailbox')
    issue(path, `${name} has to be a token, not a ${field.as}`)
}

/** A field that proves who calls: unless it is a secret, it would be shown with the channel and in requests that are printed. */
export function checkSecretField(form: ProviderForm, name: string, path: string, issue: Issue): void {
  checkAuthField(form, name, path, issue)
  if (form.config[name]?.secret === false)
    issue(path, `${name} proves who calls: give the field secret: true`)
}

function authOf(form: ProviderForm, issue: Issue) {
  const { auth } = form.request
  const check = (name: string, place: string) => checkSecretField(form, name, `/request/auth/${place}`, issue)
  type Auth = (
    config: FileConfig,
    context: CallContext,
  ) => { headers: Record<string, string>; query: [string, string][] }
  const byHeader = (name: string, valueIn: (config: FileConfig) => string): Auth => {
    return (config) => ({ headers: { [name.toLowerCase()]: valueIn(config) }, query: [] })
  }
  if ('none' in auth) return (() => ({ headers: {}, query: [] })) satisfies Auth
  if ('bearer' in auth) {
    check(auth.bearer, 'bearer')
    return byHeader('authorization', (config) => `Bearer ${config[auth.bearer] ?? ''}`)
  }
  if ('basic' in auth) {
    const { user, password } = auth.basic
    if (typeof user === 'string') checkAuthField(form, user, '/request/auth/basic/user', issue)
    if (password !== undefined) check(password, 'basic/password')
    return byHeader('authorization', (config) => {
      const name = typeof user === 'string' ? (config[user] ?? '') : user.text
      const login = `${name}:${password === undefined ? '' : (config[password] ?? '')}`
      return `Basic ${Buffer.from(login).toString('base64')}`
    })
  }
  if ('header' in auth) {
    const { name, prefix = '', value } = auth.header
    check(value, 'header/value')
    return byHeader(name, (config) => prefix + (config[value] ?? ''))
  }
  if ('oauth2' in auth) {
    if (!/^https:\/\/[A-Za-z0-9.-]+(:\d+)?(\/[A-Za-z0-9._~/-]*)?$/.test(auth.oauth2.tokenUrl))
      issue('/request/auth/oauth2/tokenUrl', 'has to be https, without user name, query and fragment')
    checkAuthField(form, auth.oauth2.clientId, '/request/auth/oauth2/clientId', issue)
    check(auth.oauth2.clientSecret, 'oauth2/clientSecret')
    return ((_, { accessToken = '' }) => ({
      headers: { authorization: `Bearer ${accessToken}` },
      query: [],
    })) satisfies Auth
  }
  const { name, value } = auth.query
  check(value, 'query/value')
  return ((config) => ({ headers: {}, query: [[name, config[value] ?? '']] })) satisfies Auth
}

interface Signing {
  config: FileConfig
  method: string
  path: string
  body: HttpBody
  context: CallContext
}

function signerOf(
  form: ProviderForm,
  issue: Issue,
): ((signing: Signing) => Record<string, string>) | undefined {
  const { signature } = form.request
  if (!signature) return undefined
  checkSecretField(form, signature.key, '/request/signature/key', issue)
  const { header, prefix = '', key, hash, encoding, timestampHeader, over } = signature
  return ({ config, method, path, body, context }) => {
    const timestamp = String(Math.floor(context.nowMs() / 1000))
    const hmac = createHmac(hash, config[key] ?? '')
    for (const part of over) {
      if (part === 'body') for (const piece of piecesOf(body)) hmac.update(piece)
      else hmac.update(typeof part === 'object' ? part.text : { method, path, timestamp }[part])
    }
    return {
      ...(timestampHeader && { [timestampHeader.toLowerCase()]: timestamp }),
      [header.toLowerCase()]: prefix + hmac.digest(encoding),
    }
  }
}
