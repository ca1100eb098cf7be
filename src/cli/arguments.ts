import { InvalidArgumentError } from 'commander'
import { z } from 'zod'
import { accountExists, type RateLimit } from '../../db/accounts/accounts.ts'
import type { Database } from '../../db/client.ts'
import { type Permission, permissions } from '../core/api-key.ts'
import { isLongerThan, isStorable } from '../core/characters.ts'
import { anyContact, type Contact, parseContact } from '../core/contact.ts'
import { canBeRecordId } from '../core/record-id.ts'
import { CliError } from './answer.ts'

const unitSeconds: Record<string, number> = { s: 1, m: 60, h: 3600, d: 86_400 }
const largestInteger = 2_147_483_647
const longestWindowSeconds = 86_400
const mostCallsPerSecond = 1000

export function rateLimit(text: string): RateLimit {
  const [points, seconds] = /^(\d+)\/(\d+)$/.exec(text)?.slice(1).map(Number) ?? []
  if (!points || !seconds || points > largestInteger || seconds > longestWindowSeconds) {
    throw new InvalidArgumentError('Use POINTS/SECONDS, e.g. 600/60, and 86400 seconds at the most.')
  }
  return { points, seconds }
}

/** 0 for none: commander takes a null for an empty text. */
export function limit(text: string): number {
  return text === 'none' ? 0 : wholeNumber(text)
}

export interface Rate {
  calls: number
  seconds: number
}

/** 0 calls for none. */
export function callRate(text: string): Rate {
  if (text === 'none') return { calls: 0, seconds: 0 }
  const [calls, seconds] = /^(\d{1,9})\/(\d{1,9})$/.exec(text)?.slice(1).map(Number) ?? []
  if (!calls || !seconds || calls / seconds > mostCallsPerSecond || seconds > longestWindowSeconds) {
    throw new InvalidArgumentError(
      'Use N/SECONDS, e.g. 80/1: 1000 a second and 86400 seconds at the most; or "none".',
    )
  }
  return { calls, seconds }
}

export function wholeNumber(text: string): number {
  const number = /^\d{1,10}$/.test(text) ? Number(text) : 0
  if (number < 1 || number > largestInteger) {
    throw new InvalidArgumentError(`Use a whole number from 1 to ${largestInteger}.`)
  }
  return number
}

export function durationSeconds(text: string): number {
  const ms = durationMs(text)
  if (!ms) throw new InvalidArgumentError('Use a number above 0 and s, m, h or d, e.g. 90d.')
  return ms / 1000
}

/** A moment as RFC 3339 has it, or that long ago. */
export function pastMoment(text: string): Date {
  const ms = durationMs(text)
  const at = ms ? new Date(Date.now() - ms) : new Date(momentSchema.safeParse(text.toUpperCase()).data ?? '')
  if (!Number.isNaN(at.getTime())) return at
  throw new InvalidArgumentError(
    'Use a moment with its offset, e.g. 2026-11-21T14:00:00Z, or how long ago, e.g. 90m, 1h or 2d.',
  )
}

const momentSchema = z.iso.datetime({ offset: true })

/** 0 for what is none. */
function durationMs(text: string): number {
  const [, count, unit = ''] = /^(\d{1,5})([smhd])$/.exec(text) ?? []
  return Number(count ?? 0) * (unitSeconds[unit] ?? 0) * 1000
}

/** A part of why sends failed. */
export function reasonPart(text: string): string {
  if (text.trim() === '' || text.length > 500 || !isStorable(text)) {
    throw new InvalidArgumentError('Use 1 to 500 characters of the reason, as trace shows it.')
  }
  return text.trim()
}

export function permissionList(text: string): Permission[] {
  const named = [...new Set(text.split(',').map((name) => name.trim()))]
  if (!named.every((name): name is Permission => permissions.some((known) => known === name))) {
    throw new InvalidArgumentError(`Use one or both of ${permissions.join(',')}.`)
  }
  return named
}

/** Commander's own error for it would repeat the text, which may hold credentials. */
export const json =
  (option: string) =>
  (text: string): unknown => {
    try {
      return JSON.parse(text)
    } catch {
      throw new CliError(`${option} has to be JSON; quote it for your shell.`)
    }
  }

export function contact(text: string): Pick<Contact, 'type' | 'value'> {
  const parsed = parseContact(text)
  if (!parsed) throw new InvalidArgumentError(`Use ${anyContact}.`)
  return parsed
}

/** A name that people give things: not empty, on one line. */
export function name(text: string): string {
  if (text.trim() === '' || text.length > 256 || /\p{Cc}/u.test(text)) {
    throw new InvalidArgumentError('Use 1 to 256 characters on one line.')
  }
  return text
}

/** As sends may name a template (docs/reference/api.md#body). */
export function templateName(text: string): string {
  if (text === '' || isLongerThan(text, 512) || /\p{Cc}/u.test(text)) {
    throw new InvalidArgumentError('Use 1 to 512 characters on one line.')
  }
  return text
}

/** @throws CliError where there is no such account. */
export async function existingAccount(db: Database, id: string): Promise<string> {
  if (canBeRecordId(id) && (await accountExists(db, id))) return id
  throw new CliError(
    `No account ${id}; see them with: account list, or make one with: account create --name NAME`,
  )
}
