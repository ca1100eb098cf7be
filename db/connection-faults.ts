import { DrizzleQueryError } from 'drizzle-orm'
import { DatabaseFault } from './session.ts'

/** Needs no change by an operator: after a failover the same address takes writes again. */
export class ReadOnlyFault extends Error {
  constructor() {
    super('PostgreSQL takes no writes: this is a standby, or default_transaction_read_only is on')
  }
}

const otherName = 'ERR_TLS_CERT_ALTNAME_INVALID'
/** OpenSSL's error codes; https://nodejs.org/api/tls.html#x509-certificate-error-codes */
const untrusted =
  /^(DEPTH_ZERO_SELF_SIGNED_CERT|SELF_SIGNED_CERT_IN_CHAIN|UNABLE_TO_.*|CERT_UNTRUSTED|CERT_REJECTED|INVALID_(CA|PURPOSE)|CERT_SIGNATURE_FAILURE|CERT_CHAIN_TOO_LONG)$/
const outdated = 'CERT_HAS_EXPIRED'
const tooEarly = 'CERT_NOT_YET_VALID'

/** Whether TLS failed because the certificate is for another host. */
export function isForOtherHost(error: unknown): boolean {
  return codeOf(error) === otherName
}

/** Whether TLS failed because the certificate has expired. */
export function isOutdated(error: unknown): boolean {
  return codeOf(error) === outdated
}

/** Whether TLS failed because the certificate isn't valid yet: renewing it would not help. */
export function isTooEarly(error: unknown): boolean {
  return codeOf(error) === tooEarly
}

/** Whether TLS failed because of the server's certificate. */
export function isCertificateFault(error: unknown): boolean {
  const code = codeOf(error)
  return isForOtherHost(error) || isOutdated(error) || isTooEarly(error) || untrusted.test(code)
}

/**
 * For a connection to PostgreSQL that fails until an operator changes something: one line that names the setting to change.
 * Undefined for any other fault, such as a server that is down.
 */
export function connectionFault(error: unknown): string | undefined {
  const cause = error instanceof DrizzleQueryError ? error.cause : error
  if (!(cause instanceof Error)) return undefined
  if (cause instanceof DatabaseFault) return cause.message
  const code = codeOf(cause)
  if (untrusted.test(code))
    return `DATABASE_URL: PostgreSQL's certificate is signed by an unknown CA (${code}); add sslrootcert=FILE with that CA's certificate, or set NODE_EXTRA_CA_CERTS`
  if (isOutdated(cause)) return `DATABASE_URL: PostgreSQL's certificate has expired (${code}); renew it`
  if (isTooEarly(cause))
    return `DATABASE_URL: PostgreSQL's certificate is not valid yet (${code}); set this machine's clock right, or wait until it is valid`
  if (isForOtherHost(cause))
    return `DATABASE_URL: PostgreSQL's certificate is for another host name (${code}); use the name it is for, or sslmode=verify-ca with sslrootcert=FILE`
  if (/server does not support SSL/.test(cause.message))
    return 'DATABASE_URL: PostgreSQL does not support TLS; turn it on there (ssl = on), or remove sslmode'
  if (/^no pg_hba\.conf entry.*no encryption$/.test(cause.message))
    return 'DATABASE_URL: PostgreSQL accepts this user only with TLS; add sslmode=verify-full, or sslmode=require'
  return undefined
}

function codeOf(error: unknown): string {
  return String((error as NodeJS.ErrnoException | undefined)?.code ?? '')
}
