import { createHash, createHmac, verify } from 'node:crypto'
import { isSameSecret } from '../../../core/accounts/same-secret.ts'
import type { ReceiptRequest } from '../../../core/receipts/receipt.ts'
import { fieldsOf, headerOf, parseJson } from '../../../core/receipts/receipt-request.ts'
import { isSignedWebhook } from '../../../core/receipts/standard-webhooks.ts'
import { publicKeyOf } from '../config.ts'
import type { ProofForm } from '../form/receipts.ts'
import type { ProviderForm } from '../form.ts'
import { checkAuthField, checkSecretField } from '../request/build.ts'
import type { FileConfig } from '../request/holes.ts'
import { atPointer, firstWordAt, type Places } from './places.ts'

export type Proof = (request: ReceiptRequest, places: Places, config: FileConfig) => boolean

const aheadMs = 5 * 60_000

/** The names of the fields of the config that a proof needs: with all of them, a channel takes receipts. */
export function fieldsOfProof(proof: ProofForm): string[] {
  if ('token' in proof) return [proof.token]
  if ('basic' in proof) return [proof.basic.user, proof.basic.password]
  if ('header' in proof) return [proof.header.value]
  const [{ key }] = Object.values(proof) as [{ key: string }]
  return [key]
}

/** How requests with receipts are proven. Faults of the file are reported. */
export function compileProof(
  form: ProviderForm,
  proof: ProofForm,
  issue: (path: string, message: string) => void,
): Proof {
  for (const name of fieldsOfProof(proof)) {
    const check = isPublic(form, proof, name) ? checkAuthField : checkSecretField
    check(form, name, '/receipts/proof', issue)
  }
  if ('token' in proof)
    return ({ target }, _, config) =>
      isSame(new URLSearchParams(target.split('?')[1]).get('token'), config[proof.token])
  if ('header' in proof) {
    const { name, prefix = '', value } = proof.header
    return (request, _, config) => isSame(headerOf(request, name.toLowerCase()), config[value], prefix)
  }
  if ('basic' in proof) {
    const { user, password } = proof.basic
    return (request, _, config) => {
      const login = Buffer.from(`${config[user]}:${config[password]}`).toString('base64')
      return (
        config[password] !== undefined && isSameSecret(headerOf(request, 'authorization'), `Basic ${login}`)
      )
    }
  }
  if ('standardWebhooks' in proof) {
    const { key, prefix } = proof.standardWebhooks
    return (request, _, config) =>
      config[key] !== undefined && isSignedWebhook(request, [config[key]], prefix)
  }
  if ('jwt' in proof) return byToken(proof.jwt)
  return bySignature(proof)
}

/** Whether somebody who knows the field still can't make the proof: the user beside a password, and a public key. */
function isPublic({ config }: ProviderForm, proof: ProofForm, name: string): boolean {
  if ('basic' in proof) return name === proof.basic.user && name !== proof.basic.password
  return ('ed25519' in proof || 'ecdsa' in proof) && config[name]?.as === 'publicKey'
}

/** Whether a proof is the secret, which has to be there. */
const isSame = (given: string | null, secret: string | undefined, prefix = '') =>
  secret !== undefined && isSameSecret(given ?? '', prefix + secret)

/** A JWT (HS256) with the hash of the body. */
function byToken({ key, header, bodyHash }: { key: string; header: string; bodyHash: string }): Proof {
  return (request, _, config) => {
    const secret = config[key]
    const [, token = ''] = /^(?:Bearer +)?([^ ]+)$/i.exec(headerOf(request, header.toLowerCase())) ?? []
    const [head = '', claims = '', given = ''] = token.split('.')
    const expected = createHmac('sha256', secret ?? '')
      .update(`${head}.${claims}`)
      .digest('base64url')
    const isSigned = isSameSecret(given, expected) && secret !== undefined
    const hash = createHash('sha256').update(request.body).digest('hex')
    return isSigned && decoded(head).alg === 'HS256' && decoded(claims)[bodyHash] === hash
  }
}

const decoded = (part: string) => fieldsOf(parseJson(Buffer.from(part, 'base64url').toString()))

type SignatureForm = Extract<ProofForm, { hmac: unknown } | { ed25519: unknown } | { ecdsa: unknown }>

function bySignature(proof: SignatureForm): Proof {
  const { key, at, encoding, over, fresh } =
    'hmac' in proof ? proof.hmac : 'ecdsa' in proof ? proof.ecdsa : proof.ed25519
  return (request, places, config) => {
    const secret = config[key]
    const given = firstWordAt(at, places) ?? ''
    const signed = signedBytes(over, request, places)
    if (secret === undefined || !signed) return false
    const isSigned =
      'hmac' in proof
        ? isHmac(proof.hmac, given, signed, secret)
        : isBy(proof, { given, encoding }, signed, secret)
    return isSigned && (!fresh || isFresh(firstWordAt(fresh.at, places), fresh.seconds, request.nowMs))
  }
}

function isHmac(
  { hash, encoding, prefix = '' }: Extract<ProofForm, { hmac: unknown }>['hmac'],
  given: string,
  signed: Buffer,
  secret: string,
): boolean {
  return isSameSecret(given, prefix + createHmac(hash, secret).update(signed).digest(encoding))
}

function isBy(
  proof: SignatureForm,
  { given, encoding }: { given: string; encoding: 'hex' | 'base64' },
  signed: Buffer,
  key: string,
): boolean {
  const publicKey = publicKeyOf(key)
  if (!publicKey) return false
  const signature = Buffer.from(given, encoding)
  return verify('ecdsa' in proof ? 'sha256' : null, signed, publicKey, signature)
}

/** Undefined if a signed part is missing. */
function signedBytes(
  over: Extract<ProofForm, { hmac: unknown }>['hmac']['over'],
  request: ReceiptRequest,
  places: Places,
): Buffer | undefined {
  const parts = over.map((part) => {
    if (part === 'body') return request.body
    if (part === 'bodyHash') return createHash('sha256').update(request.body).digest()
    if (part === 'url') return Buffer.from((request.publicBaseUrl ?? '').replace(/\/+$/, '') + request.target)
    if (part === 'fields') return Buffer.from(sortedFields(places.fields))
    if ('text' in part) return Buffer.from(part.text)
    const word =
      'header' in part
        ? headerOf(request, part.header.toLowerCase())
        : String(atPointer(places.fields, part.at) ?? '')
    return word === '' ? undefined : Buffer.from(word)
  })
  return parts.every((part) => part !== undefined) ? Buffer.concat(parts) : undefined
}

/** Names and values, sorted by name. */
const sortedFields = (fields: unknown): string =>
  Object.entries(fieldsOf(fields))
    .sort(([one], [other]) => (one < other ? -1 : 1))
    .map(([name, value]) => `${name}${String(value)}`)
    .join('')

function isFresh(given: string | undefined, seconds: number, nowMs: number): boolean {
  const atMs = momentMs(given)
  return atMs !== undefined && nowMs - atMs <= seconds * 1000 && atMs - nowMs <= aheadMs
}

/** A time as vendors write it: seconds or milliseconds since 1970, or a date with its zone. In ms; undefined for anything else. */
export function momentMs(given: string | undefined): number | undefined {
  if (given === undefined) return undefined
  if (/^\d{9,10}(\.\d+)?$/.test(given)) return Number(given) * 1000
  if (/^\d{12,13}$/.test(given)) return Number(given)
  // Without a zone, a date would count as this machine's.
  const ms = /(Z|GMT|UTC|[+-]\d\d:?\d\d)$/.test(given) ? Date.parse(given) : Number.NaN
  return Number.isNaN(ms) ? undefined : ms
}
