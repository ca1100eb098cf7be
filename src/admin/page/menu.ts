import type { Role } from '../../core/accounts/person.ts'

export interface MenuEntry {
  /** The path of its first page: pages below it mark the same entry. */
  href: string
  /** Also the title of the page. */
  name: string
  /** The role that the page needs. */
  role?: Role
  /** Whether the page shows what the chosen account has. */
  isOfAccount?: boolean
}

/** All pages of the side bar. A new page is a line here; those of a role must name it in their routes, too. */
export const menu: readonly { group: string; entries: readonly MenuEntry[] }[] = [
  {
    group: 'Watch',
    entries: [
      { href: '/', name: 'Today', isOfAccount: true },
      { href: '/sends', name: 'Sends', isOfAccount: true },
      { href: '/channels', name: 'Channels', isOfAccount: true },
      { href: '/endpoints', name: 'Endpoints', isOfAccount: true },
    ],
  },
  {
    group: 'People',
    entries: [
      { href: '/contact', name: 'Contacts', isOfAccount: true },
      { href: '/suppressions', name: 'Suppressions', isOfAccount: true },
    ],
  },
  {
    group: 'Help',
    entries: [
      { href: '/support', name: 'Find' },
      { href: '/refused', name: 'Refused', isOfAccount: true },
      { href: '/inbox', name: 'Inbox' },
      { href: '/queues', name: 'Queues', role: 'operator' },
    ],
  },
  {
    group: 'Manage',
    entries: [
      { href: '/accounts', name: 'Accounts', role: 'operator', isOfAccount: true },
      { href: '/audit', name: 'Audit' },
      { href: '/people', name: 'People', role: 'operator' },
    ],
  },
]

/** The page that shows the chosen account: the one that is open, or the first one where that is of no account. */
export const accountPage = (at: string | undefined): string =>
  menu.flatMap(({ entries }) => entries).find(({ href, isOfAccount }) => href === at && isOfAccount)?.href ??
  '/'
