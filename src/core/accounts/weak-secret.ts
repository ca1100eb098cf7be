const minCharacters = 8
/** Each also with digits or marks behind it. */
const wellKnown = [
  ...['password', 'passw0rd', 'changeme', 'change-me', 'secret', 'admin', 'administrator'],
  ...['letmein', 'welcome', 'qwerty', 'qwertyuiop', 'qwertz', 'iloveyou', 'p@ssword', 'p@ssw0rd', 'outbound'],
]
const inOrder = ['01234567890123456789', '98765432109876543210', 'abcdefghijklmnopqrstuvwxyz']

const longestUnit = 8
/** Random secrets of 32 characters or more have more different ones, those of digits alone, too. */
const fewestDifferent = 7

/** Whether a long secret is a few characters again and again, or has hardly any different ones. */
export const isOfFewCharacters = (text: string): boolean =>
  isRepeated(text) || (text !== '' && new Set(text).size < fewestDifferent)

/** Whether a text is its first characters again and again. The last time may be cut. */
function isRepeated(text: string): boolean {
  const longest = Math.min(longestUnit, text.length / 2)
  for (let unit = 1; unit <= longest; unit++) if (text.slice(unit) === text.slice(0, -unit)) return true
  return false
}

/** Why a text is no secret; undefined if nothing is known against it. It repeats nothing of the text. */
export function weakSecretIssue(text: string): string | undefined {
  if (text.length < minCharacters) return `is shorter than ${minCharacters} characters`
  if (isRepeated(text)) return 'is a few characters repeated'
  const word = text.toLowerCase().replace(/[\d!?.]+$/, '')
  const isGuessed =
    wellKnown.includes(word) || inOrder.some((characters) => characters.includes(text.toLowerCase()))
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
