import { randomBytes, type ScryptOptions, scrypt, timingSafeEqual } from 'node:crypto'

/** One of OWASP's sets of equal strength: 32 MiB of memory for a hash. At 128 MiB, some sign-ins at once would fill a container. */
const current: Cost = { N: 2 ** 15, r: 8, p: 3 }
const hashBytes = 32
const saltBytes = 16
const minLength = 12
const maxLength = 1024

interface Cost {
  N: number
  r: number
  p: number
}

/** The fault of a new password; undefined if it can be used. */
export function passwordIssue(password: string): string | undefined {
  const { length } = [...password.normalize('NFKC')]
  if (/\p{Cc}/u.test(password)) return 'The password has a control character or several lines: use one line'
  if (length < minLength)
    return `The password is too short: use at least ${minLength} characters, such as five words`
  if (length > maxLength) return `The password is too long: use at most ${maxLength} characters`
  return undefined
}

/** The hash of a password, with its salt and cost, so that the cost of new hashes can change. */
export async function hashPassword(password: string, cost = current): Promise<string> {
  const salt = randomBytes(saltBytes)
  return stored(cost, salt, await derive(password, salt, cost))
}

function stored({ N, r, p }: Cost, salt: Buffer, hash: Buffer): string {
  return ['scrypt', N, r, p, salt.toString('base64'), hash.toString('base64')].join('$')
}

/** The hash of no password: nothing is derived to zeros. */
const decoy = stored(current, Buffer.alloc(saltBytes), Buffer.alloc(hashBytes))

/**
 * Whether it is the password of a stored hash. Without a hash it takes the same time and returns false, so that the time doesn't
 * show whether there is such a person.
 */
export async function isPassword(password: string, storedHash: string | undefined): Promise<boolean> {
  const [, N, r, p, salt = '', hash = ''] = (storedHash ?? decoy).split('$')
  const cost = { N: Number(N), r: Number(r), p: Number(p) }
  const derived = await derive(password, Buffer.from(salt, 'base64'), cost)
  return timingSafeEqual(derived, Buffer.from(hash, 'base64')) && storedHash !== undefined
}

function derive(password: string, salt: Buffer, { N, r, p }: Cost): Promise<Buffer> {
  const bytes = Buffer.from(password.normalize('NFKC'))
  const options: ScryptOptions = { N, r, p, maxmem: 256 * N * r }
  return new Promise((resolve, reject) => {
    scrypt(bytes, salt, hashBytes, options, (error, key) => (error ? reject(error) : resolve(key)))
  })
}
