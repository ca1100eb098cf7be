import { isStorable } from '../requests/characters.ts'

/** Each may do what those before it may, and more (docs/reference/admin.md#roles). */
export const roles = ['reader', 'support', 'operator'] as const
export type Role = (typeof roles)[number]

/** Who uses the admin pages. */
export interface Person {
  name: string
  role: Role
}

/** Who signs in with ADMIN_PASSWORD, or without any password on the machine itself. */
export const builtIn: Person = { name: 'admin', role: 'operator' }

export const personNameWanted = '1 to 64 characters on one line, without spaces at its ends'

export function isPersonName(text: string): boolean {
  return (
    text.length >= 1 && text.length <= 64 && text === text.trim() && isStorable(text) && !/\p{C}/u.test(text)
  )
}

/** Two names with the same key are the same name. */
export const nameKey = (name: string): string => name.normalize('NFKC').toLowerCase()

/** Whether the role may do what is for another one. */
export const mayAs = (role: Role, needed: Role): boolean => roles.indexOf(role) >= roles.indexOf(needed)

export const isRole = (text: string | undefined): text is Role => roles.some((role) => role === text)
