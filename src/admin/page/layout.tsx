import { tryGetContext } from 'hono/context-storage'
import type { Child } from 'hono/jsx'
import type { Person, Role } from '../../core/accounts/person.ts'
import type { AdminEnv } from '../context.ts'

/** The menu. An entry with a role is shown to that role only. */
const pages: { href: string; name: string; role?: Role }[] = [
  { href: '/', name: 'Today' },
  { href: '/support', name: 'Support' },
  { href: '/sends', name: 'Sends' },
  { href: '/contact', name: 'Contacts' },
  { href: '/suppressions', name: 'Suppressions' },
  { href: '/channels', name: 'Channels' },
  { href: '/endpoints', name: 'Endpoints' },
  { href: '/inbox', name: 'Inbox' },
  { href: '/queues', name: 'Queues', role: 'operator' },
  { href: '/refused', name: 'Refused' },
  { href: '/audit', name: 'Audit' },
  { href: '/people', name: 'People', role: 'operator' },
]

interface LayoutProps {
  title: string
  /** The menu entry that the page belongs to. */
  at?: string
  /** Reloads the page this often, without a script. */
  refreshSeconds?: number | undefined
  /** Leads to this path at once, without a script. */
  leadsTo?: string
  /** For a page laid out like a chat. */
  isNarrow?: boolean
  /** For a page with a wide table. */
  isWide?: boolean
  children?: Child
}

/** The frame of every page. All texts go through JSX, which escapes them. */
export function Layout({ title, at, refreshSeconds, leadsTo, isNarrow, isWide, children }: LayoutProps) {
  const { person, sessionHash, storeWarnings = [] } = tryGetContext<AdminEnv>()?.var ?? {}
  return (
    <html lang="en">
      <head>
        <meta charset="utf-8" />
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        <meta name="color-scheme" content="light dark" />
        {refreshSeconds !== undefined && <meta http-equiv="refresh" content={String(refreshSeconds)} />}
        {leadsTo !== undefined && <meta http-equiv="refresh" content={`0; url=${leadsTo}`} />}
        <title>{`${title} – Outbound messages`}</title>
        <link rel="stylesheet" href="/admin.css" />
        <link rel="icon" href="/icon.svg" />
        <script src="/zone.js" defer />
      </head>
      <body>
        <a class="skip" href="#main">
          Skip to content
        </a>
        <header class="top">
          <span class="brand">Outbound messages</span>
          {person && (
            <nav aria-label="Pages">
              {pages
                .filter(({ role }) => role === undefined || role === person.role)
                .map(({ href, name }) => (
                  <a href={href} aria-current={at === href ? 'page' : undefined}>
                    {name}
                  </a>
                ))}
            </nav>
          )}
          {person && <WhoIsIn person={person} canSignOut={sessionHash !== undefined} />}
        </header>
        <main id="main" class={isNarrow ? 'narrow' : isWide ? 'wide' : undefined}>
          {storeWarnings.map((warning) => (
            <p class="fault" role="status">
              {warning}
            </p>
          ))}
          {children}
        </main>
      </body>
    </html>
  )
}

function WhoIsIn({ person: { name, role }, canSignOut }: { person: Person; canSignOut: boolean }) {
  return (
    <form method="post" action="/logout" class="who">
      <span>
        {name} <span class="muted">{role}</span>
      </span>
      {canSignOut && <button type="submit">Sign out</button>}
    </form>
  )
}
