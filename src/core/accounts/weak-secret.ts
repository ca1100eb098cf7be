const minCharacters = 8
/** Each also with digits or marks behind it. */
const wellKnown = [
  ...['password', 'passw0rd', 'changeme', 'change-me', 'secret', 'admin', 'administrator'],
  ...['letmein', 'welcome', 'qwerty', 'qwertyuiop', 'outbound'],
]
const digitsInOrder = ['01234567890123456789', '98765432109876543210']

/** Whether a text is nothing but a few characters again and again. */
export const isRepetitive = (text: string): boolean => /^(.{1,4}?)\1+$/s.test(text)

/** Why a text is no secret; undefined if nothing is known against it. It repeats nothing of the text. */
export function weakSecretIssue(text: string): string | undefined {
  if (text.length < minCharacters) return `is shorter than ${minCharacters} characters`
  if (isRepetitive(text)) return 'is a few characters repeated'
  const word = text.toLowerCase().replace(/[\d!?.]+$/, '')
  const isGuessed = wellKnown.includes(word) || digitsInOrder.some((digits) => digits.includes(text))
  return isGuessed ? 'is one of the first that anyone tries' : undefined
}

/** The secrets of providers' configs by which receipts prove where they come from. */
const receiptSecrets = [
  'appSecret',
  'authToken',
  'bounceToken',
  'secret',
  'signatureSecret',
  'verifyToken',
  'webhookSecret',
]

/** The prefix of secrets of Standard Webhooks: base64 follows. */
const webhookPrefix = /^whsec_/

/** Why anyone could forge receipts for a channel with this config; undefined if nobody could. */
export function weakConfigIssue(config: object): string | undefined {
  for (const [field, value] of Object.entries(config)) {
    if (!receiptSecrets.includes(field)) continue
    const secrets = [value].flat().filter((one) => typeof one === 'string')
    const texts = secrets.map((secret) => secret.replace(webhookPrefix, '').replace(/=+$/, ''))
    const issue = texts.map(weakSecretIssue).find(Boolean)
    if (!issue) continue
    const command = secrets.some((secret) => webhookPrefix.test(secret))
      ? 'echo "whsec_$(openssl rand -base64 32)"'
      : 'openssl rand -hex 16'
    return `${field} ${issue}, so that anyone could forge receipts; make one with: ${command}`
  }
  return undefined
}
