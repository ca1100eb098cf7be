import { isOfFewCharacters, weakSecretIssue } from '../../core/accounts/weak-secret.ts'
import { isEverybody, type Network, networkIssue, parseNetwork } from '../../core/requests/public-address.ts'
import { environmentVariables, type Variables } from './environment.ts'

/**
 * Whether weak settings are refused: everywhere but in `npm run dev`, the demo and tests, whose secrets anyone can read. If nothing
 * says where a process runs, it is in production.
 */
export function isProduction({ NODE_ENV = environmentVariables.NODE_ENV }: Variables): boolean {
  return NODE_ENV !== 'development' && NODE_ENV !== 'test'
}

/**
 * The issues of settings that could be used, but protect nothing. CREDENTIALS_KEY_PREVIOUS may be weak: it is how to leave a weak key.
 *
 * @param names the settings that the process reads.
 */
export function weakSettings(names: readonly string[], variables: Variables): string[] {
  const set = Object.fromEntries(Object.entries(variables).filter(([name]) => names.includes(name)))
  return [
    ...keyIssues(set),
    ...pepperIssues(set),
    ...passwordIssues(set),
    ...proxyIssues(set),
    ...networkIssues('ALLOWED_PRIVATE_NETWORKS', set),
    ...networkIssues('CLIENT_PRIVATE_NETWORKS', set),
  ]
}

function keyIssues({ CREDENTIALS_KEY = '' }: Variables): string[] {
  if (!isOfFewCharacters(Buffer.from(CREDENTIALS_KEY, 'base64').toString('latin1'))) return []
  return [
    'CREDENTIALS_KEY has too few different bytes, or is a few bytes repeated; make one with: openssl rand -base64 32, and run outbound credentials rotate',
  ]
}

/** Base64 is the same text without its padding. */
const bare = (text: string) => text.replace(/[=\s]+$/, '')

function pepperIssues({ API_KEY_PEPPER = '', CREDENTIALS_KEY = '' }: Variables): string[] {
  const makeOne = 'make one with: openssl rand -base64 48, and create the API keys again'
  if (API_KEY_PEPPER !== '' && bare(API_KEY_PEPPER) === bare(CREDENTIALS_KEY))
    return [`API_KEY_PEPPER is the same as CREDENTIALS_KEY; ${makeOne}`]
  return isOfFewCharacters(API_KEY_PEPPER)
    ? [`API_KEY_PEPPER has too few different characters, or is a few characters repeated; ${makeOne}`]
    : []
}

function passwordIssues({ ADMIN_PASSWORD }: Variables): string[] {
  const issue = ADMIN_PASSWORD && weakSecretIssue(ADMIN_PASSWORD)
  return issue ? [`ADMIN_PASSWORD ${issue}; make one with: openssl rand -base64 18`] : []
}

/** A proxy whose word on who signed in is taken has to be named: with all of the internet trusted, anyone can be any operator. */
function proxyIssues({ ADMIN_USER_HEADER, TRUST_PROXY }: Variables): string[] {
  if (!ADMIN_USER_HEADER || !parsed(TRUST_PROXY).some(isEverybody)) return []
  return [
    'TRUST_PROXY is everybody, so that anyone can sign in by ADMIN_USER_HEADER; set it to the address of the proxy',
  ]
}

function networkIssues(name: string, set: Variables): string[] {
  const tooMuch = parsed(set[name])
    .map(networkIssue)
    .filter((issue) => issue !== undefined)
  return [...new Set(tooMuch)].map(
    (issue) => `${name} has a network that ${issue}; name the private networks that are called`,
  )
}

/** None, if the text is no list of networks, which is an issue of its own. */
function parsed(text = ''): Network[] {
  try {
    return text
      .split(',')
      .filter(Boolean)
      .map((cidr) => parseNetwork(cidr.trim()))
  } catch {
    return []
  }
}
