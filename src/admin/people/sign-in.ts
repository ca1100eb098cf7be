import { createHash } from 'node:crypto'
import { audited } from '../../../db/audit/record.ts'
import { beginSession, type Credentials, findCredentials } from '../../../db/people/sessions.ts'
import type { AuditRow } from '../../core/accounts/audit.ts'
import { isPassword } from '../../core/accounts/password.ts'
import { isPersonName, nameKey } from '../../core/accounts/person.ts'
import { networkOf, subscriber } from '../../core/accounts/subscriber.ts'
import { sharedLimiters } from '../../platform/redis/shared-limiter.ts'
import type { AdminRuntime } from '../context.ts'
import { newToken } from './session-cookie.ts'
import { SignInQueue } from './sign-in-queue.ts'

const seconds = 900
/** Wrong passwords in this time. */
const allowed = { ofPair: 10, ofAddress: 50, ofPerson: 50 }
/** Each takes a core and 32 MiB for a while. */
const hashes = { atOnce: 2, waiting: 20 }

export interface SignInAttempt {
  name: string
  password: string
  address: string
}

export type SignedIn =
  | { token: string; name: string }
  | ({ refused: 'wrong' | 'busy' } & Whose)
  | ({ refused: 'limited'; resetSeconds: number } & Whose)

interface Whose {
  /** The name as it was added, if there is such a person. */
  person: string | undefined
}

type Refusal = Extract<SignedIn, { refused: string }>

/** Checks passwords, and signs in. One for a process: it limits how many are hashed at once. */
export interface SignIn {
  /** Whose password it is. `settle` takes the attempt off the limits. */
  check(attempt: SignInAttempt): Promise<Refusal | { credentials: Credentials; settle(): Promise<unknown> }>
  /** Begins a session. */
  begin(attempt: SignInAttempt): Promise<SignedIn>
}

/**
 * Creates what signs people in. An unknown name is refused as a wrong password is, after the same time.
 *
 * Wrong passwords are counted for the person and the address together; for the address; and for the person. The last two don't
 * hold at an address from which the person signed in before: else guesses could keep them out.
 */
export function createSignIn(runtime: AdminRuntime): SignIn {
  const { db } = runtime
  const limits = signInLimits(runtime)
  const queue = new SignInQueue(hashes)

  const check: SignIn['check'] = async ({ name, password, address: from }) => {
    const address = subscriber(from)
    const credentials = isPersonName(name) ? await findCredentials(db, name) : undefined
    const person = credentials?.name
    const isKnown = credentials?.knownAddresses.includes(address) ?? false
    const counted = await limits.count({ name, address, isKnown })
    if (counted.isOver) return { refused: 'limited', resetSeconds: counted.resetSeconds, person }
    const isRight = await queue.check({ network: networkOf(from), isKnown }, () =>
      isPassword(password, credentials?.passwordHash),
    )
    if (isRight === 'busy') {
      await counted.refund()
      return { refused: 'busy', person }
    }
    if (!isRight || !credentials) return { refused: 'wrong', person }
    return { credentials, settle: counted.refund }
  }

  return {
    check,
    async begin(attempt) {
      const checked = await check(attempt)
      if ('refused' in checked) return checked
      const { credentials, settle } = checked
      const { token, tokenHash } = newToken()
      const address = subscriber(attempt.address)
      const hasBegun = await audited(
        db,
        (transaction) => beginSession(transaction, credentials, { tokenHash, address }),
        (hasBegun) => hasBegun && signedInRow(credentials.name, attempt.address),
      )
      if (!hasBegun) return { refused: 'wrong', person: credentials.name }
      await settle()
      return { token, name: credentials.name }
    },
  }
}

const signedInRow = (name: string, address: string): AuditRow => ({
  by: name,
  via: 'page',
  address,
  action: 'person.sign_in',
  target: name,
})

interface Counted {
  name: string
  address: string
  isKnown: boolean
}

function signInLimits(runtime: AdminRuntime) {
  const limiters = sharedLimiters(runtime)
  const ofPair = limiters('sign-in', { points: allowed.ofPair, seconds })
  const ofAddress = limiters('sign-in-address', { points: allowed.ofAddress, seconds })
  const ofPerson = limiters('sign-in-person', { points: allowed.ofPerson, seconds })

  return {
    /** Counts the attempt as a failed one, before its password is looked at: else many at once would not be limited. */
    async count({ name, address, isKnown }: Counted) {
      // A hash, because what was typed as a name may be a password.
      const person = createHash('sha256').update(nameKey(name)).digest('base64url')
      const all = [
        { limiter: ofPair, key: `${person}:${address}` },
        ...(isKnown
          ? []
          : [
              { limiter: ofAddress, key: address },
              { limiter: ofPerson, key: person },
            ]),
      ]
      for (const { limiter, key } of all) {
        const { isOver, resetSeconds } = await limiter.useUp(key)
        if (isOver) return { isOver, resetSeconds }
      }
      return {
        isOver: false as const,
        refund: () => Promise.all(all.map(({ limiter, key }) => limiter.refund(key))),
      }
    },
  }
}
