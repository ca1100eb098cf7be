const minCharacters = 8
const wellKnown = ['password', 'passw0rd', 'changeme', 'change-me', '12345678', '123456789', 'secret123']

/** Why a text is no secret; undefined if nothing is known against it. It repeats nothing of the text. */
export function weakSecretIssue(text: string): string | undefined {
  if (text.length < minCharacters) return `is shorter than ${minCharacters} characters`
  if (new Set(text).size === 1) return 'is one character repeated'
  return wellKnown.includes(text.toLowerCase()) ? 'is one of the first that anyone tries' : undefined
}

/** The secrets of providers' configs by which receipts prove where they come from. */
const receiptSecrets = [
  'appSecret',
  'authToken',
  'bounceToken',
  'signatureSecret',
  'verifyToken',
  'webhookSecret',
]

/** Why anyone could forge receipts for a channel with this config; undefined if nobody could. */
export function weakConfigIssue(config: object): string | undefined {
  for (const [field, value] of Object.entries(config)) {
    const issue = receiptSecrets.includes(field) && typeof value === 'string' && weakSecretIssue(value)
    if (issue)
      return `${field} ${issue}, so that anyone could forge receipts; make one with: openssl rand -hex 16`
  }
  return undefined
}
