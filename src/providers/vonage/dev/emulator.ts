import { createVerify, generateKeyPairSync } from 'node:crypto'
import type { IncomingHttpHeaders } from 'node:http'
import { v4 as uuidv4 } from 'uuid'
import { z } from 'zod'
import type { Emulator } from '../../shared/dev/emulator.ts'
import { type EmulatedAnswer, httpEmulator, jsonIn } from '../../shared/dev/http-emulator.ts'
import { type TakenMessage, usualStatuses } from './reports.ts'

export interface VonageCall {
  method: string
  path: string
  headers: IncomingHttpHeaders
  /** The JSON of a message. */
  message?: Record<string, unknown> | undefined
}

export interface VonageEmulator extends Emulator<VonageCall, EmulatedAnswer> {
  /** Another login, instead of the API key. */
  application: { applicationId: string; privateKey: string }
}

/** The body of an error (RFC 7807): https://developer.vonage.com/api-errors */
export function vonageError(status: number, code: string | number, title: string) {
  const type = `https://developer.vonage.com/api-errors${typeof code === 'number' ? '/messages' : ''}#${code}`
  return { status, body: { type, title, detail: 'Some details.', instance: uuidv4() } }
}

// https://developer.vonage.com/en/api/messages, and the types of https://github.com/Vonage/vonage-node-sdk (packages/messages)
const number = z.string().regex(/^[1-9]\d{6,14}$/)
const common = { to: number, client_ref: z.string().max(100).optional() }
const byWhatsApp = { ...common, channel: z.literal('whatsapp'), from: number }
const link = { url: z.url() }
const captioned = z.strictObject({ ...link, caption: z.string().min(1).optional() })
const typed = <Name extends string>(name: Name) => ({ message_type: z.literal(name) })

const message = z.union([
  z.strictObject({
    ...common,
    ...typed('text'),
    channel: z.literal('sms'),
    from: z.string().regex(/^([1-9]\d{2,14}|[A-Za-z0-9 ]{1,11})$/),
    text: z.string().min(1).max(1000),
  }),
  z.strictObject({ ...byWhatsApp, ...typed('text'), text: z.string().min(1).max(4096) }),
  z.strictObject({ ...byWhatsApp, ...typed('image'), image: captioned }),
  z.strictObject({ ...byWhatsApp, ...typed('video'), video: captioned }),
  z.strictObject({ ...byWhatsApp, ...typed('audio'), audio: z.strictObject(link) }),
  z.strictObject({
    ...byWhatsApp,
    ...typed('file'),
    file: captioned.extend({ name: z.string().min(1).optional() }),
  }),
  z.strictObject({
    ...byWhatsApp,
    ...typed('template'),
    template: z.strictObject({ name: z.string().min(1), parameters: z.array(z.string().min(1)) }),
    whatsapp: z.strictObject({ policy: z.literal('deterministic'), locale: z.string() }),
  }),
])

const apiKey = 'a1b2c3d4'
const apiSecret = 'emulated-secret'
const signatureSecret = 'emulated-secret-of-signatures'
const applicationId = '78d335fa-323d-0114-9c3d-d6f0d48968cf'

/** Starts an emulator of Vonage's Messages API with one API key and one application. */
export async function openVonageEmulator(): Promise<VonageEmulator> {
  const { privateKey, publicKey } = generateKeyPairSync('rsa', { modulusLength: 2048 })
  const basic = `Basic ${Buffer.from(`${apiKey}:${apiSecret}`).toString('base64')}`
  const isLogin = (given = '') => given === basic || isToken(given.replace(/^Bearer /, ''))

  function isToken(token: string): boolean {
    const [head = '', claims = '', signature = ''] = token.split('.')
    const isSigned = createVerify('RSA-SHA256')
      .update(`${head}.${claims}`)
      .verify(publicKey, Buffer.from(signature, 'base64url'))
    if (!isSigned) return false
    const { application_id, iat, exp, jti } = JSON.parse(Buffer.from(claims, 'base64url').toString())
    const now = Date.now() / 1000
    return application_id === applicationId && typeof jti === 'string' && iat <= now + 60 && exp > now
  }

  const emulator = await httpEmulator<VonageCall>({
    config: (baseUrl) => ({
      via: 'whatsapp',
      from: '15550100100',
      apiKey,
      apiSecret,
      signatureSecret,
      baseUrl,
    }),
    read(call) {
      const { method, path, headers } = call
      return { method, path, headers, message: jsonIn(call) }
    },
    answer: (call, { url, later }) =>
      answerTo(call, isLogin, (message) => {
        if (url === undefined) return
        for (const { afterMs, report } of usualStatuses(url, signatureSecret, message)) later(afterMs, report)
      }),
  })
  const pem = privateKey.export({ type: 'pkcs8', format: 'pem' }).toString()
  return { ...emulator, application: { applicationId, privateKey: pem } }
}

function answerTo(
  { method, path, headers, message: given }: VonageCall,
  isLogin: (given?: string) => boolean,
  report: (message: TakenMessage) => void,
) {
  if (path !== '/v1/messages' || method !== 'POST') return vonageError(404, 'not-found', 'Not found')
  if (!isLogin(headers.authorization))
    return vonageError(401, 'unauthorized', 'You did not provide correct credentials.')
  if (!message.safeParse(given).success) return vonageError(422, 1020, 'Invalid params')
  const id = uuidv4()
  report({ id, message: given ?? {} })
  return { status: 202, body: { message_uuid: id } }
}
