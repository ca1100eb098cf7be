/** An operator may do what support may, and more (docs/reference/admin.md). */
export type Role = 'support' | 'operator'

/** Who uses the admin pages. */
export interface Person {
  name: string
  role: Role
}

/** Who signs in with ADMIN_PASSWORD, or without any password on the machine itself. */
export const builtIn: Person = { name: 'admin', role: 'operator' }
