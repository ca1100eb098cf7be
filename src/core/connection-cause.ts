/** Why there is no connection to a store, whichever it is. */
export type ConnectionCause =
  | 'unreachable'
  | 'unknown_host'
  | 'timeout'
  | 'tls_failed'
  | 'process_short_of_files'
  | 'certificate_untrusted'
  | 'certificate_of_other_host'
  | 'certificate_expired'
  | 'certificate_not_yet_valid'

/** By the error's code, the first that fits. OpenSSL's: https://nodejs.org/api/tls.html#x509-certificate-error-codes */
const codes: [RegExp, ConnectionCause][] = [
  [/^ERR_TLS_CERT_ALTNAME_INVALID$/, 'certificate_of_other_host'],
  [/^CERT_HAS_EXPIRED$/, 'certificate_expired'],
  [/^CERT_NOT_YET_VALID$/, 'certificate_not_yet_valid'],
  [
    /^(DEPTH_ZERO_SELF_SIGNED_CERT|SELF_SIGNED_CERT_IN_CHAIN|UNABLE_TO_.*|CERT_UNTRUSTED|CERT_REJECTED|INVALID_(CA|PURPOSE)|CERT_SIGNATURE_FAILURE|CERT_CHAIN_TOO_LONG)$/,
    'certificate_untrusted',
  ],
  [/^(ERR_SSL_|EPROTO$)/, 'tls_failed'],
  [/^(ENOTFOUND|EAI_)/, 'unknown_host'],
  [/^(EMFILE|ENFILE|EADDRNOTAVAIL)$/, 'process_short_of_files'],
  [/^ETIMEDOUT$/, 'timeout'],
  // Any other error of the system, e.g. ECONNREFUSED.
  [/^E[A-Z]{3}/, 'unreachable'],
]

/** The cause of a fault of the network, TLS or this process; undefined if the error isn't one. */
export function connectionCause(error: unknown): ConnectionCause | undefined {
  const { code = '', path } = (error ?? {}) as NodeJS.ErrnoException
  // An error of a file, such as ENOENT: only these have a path.
  if (path !== undefined) return undefined
  return codes.find(([pattern]) => pattern.test(String(code)))?.[1]
}
