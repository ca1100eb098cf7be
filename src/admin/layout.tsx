import type { Child } from 'hono/jsx'

const pages = [
  { href: '/support', name: 'Support' },
  { href: '/sends', name: 'Sends' },
  { href: '/contact', name: 'Contacts' },
  { href: '/suppressions', name: 'Suppressions' },
  { href: '/inbox', name: 'Inbox' },
  { href: '/queues', name: 'Queues' },
]

interface LayoutProps {
  title: string
  /** The menu entry that the page belongs to. */
  at?: string
  /** Reloads the page this often, without a script. */
  refreshSeconds?: number | undefined
  /** For a page laid out like a chat. */
  isNarrow?: boolean
  /** For a page with a wide table. */
  isWide?: boolean
  children?: Child
}

/** The frame of every page. All texts go through JSX, which escapes them. */
export function Layout({ title, at, refreshSeconds, isNarrow, isWide, children }: LayoutProps) {
  return (
    <html lang="en">
      <head>
        <meta charset="utf-8" />
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        <meta name="color-scheme" content="light dark" />
        {refreshSeconds !== undefined && <meta http-equiv="refresh" content={String(refreshSeconds)} />}
        <title>{`${title} – Outbound messages`}</title>
        <link rel="stylesheet" href="/admin.css" />
        <link rel="icon" href="/icon.svg" />
      </head>
      <body>
        <a class="skip" href="#main">
          Skip to content
        </a>
        <header class="top">
          <span class="brand">Outbound messages</span>
          <nav aria-label="Pages">
            {pages.map(({ href, name }) => (
              <a href={href} aria-current={at === href ? 'page' : undefined}>
                {name}
              </a>
            ))}
          </nav>
        </header>
        <main id="main" class={isNarrow ? 'narrow' : isWide ? 'wide' : undefined}>
          {children}
        </main>
      </body>
    </html>
  )
}
