import { tryGetContext } from 'hono/context-storage'
import { raw } from 'hono/html'
import type { Child } from 'hono/jsx'
import { mayAs, type Person } from '../../core/accounts/person.ts'
import { pageFiles } from '../../platform/http/page-files.ts'
import { build } from '../../platform/process/build.ts'
import { AccountChooser } from '../account/chooser.tsx'
import type { AdminEnv } from '../context.ts'
import { FindBox, type FindBoxProps } from '../support/find-box.tsx'
import { menu } from './menu.ts'

interface LayoutProps {
  title: string
  /** The menu entry that the page belongs to. */
  at?: string
  /** Reloads the page this often, without a script. */
  refreshSeconds?: number | undefined
  /** Leads to this path at once, without a script. */
  leadsTo?: string
  find?: FindBoxProps
  children?: Child
}

/** The frame of every page: the row on top, the menu beside the page, or behind a button where the window is narrow. All texts go through JSX, which escapes them. */
export function Layout({ title, at, refreshSeconds, leadsTo, find, children }: LayoutProps) {
  const { person, publicBaseUrl, storeWarnings = [] } = tryGetContext<AdminEnv>()?.var ?? {}
  return (
    <>
      {raw('<!DOCTYPE html>')}
      <html lang="en">
        <head>
          <meta charset="utf-8" />
          <meta name="viewport" content="width=device-width, initial-scale=1" />
          <meta name="color-scheme" content="light dark" />
          {refreshSeconds !== undefined && <meta http-equiv="refresh" content={String(refreshSeconds)} />}
          {leadsTo !== undefined && <meta http-equiv="refresh" content={`0; url=${leadsTo}`} />}
          <title>{`${title} – Outbound messages`}</title>
          <link
            rel="preload"
            href={`/${pageFiles.font.name}`}
            as="font"
            type={pageFiles.font.type}
            crossorigin="anonymous"
          />
          <link rel="stylesheet" href="/admin.css" />
          <link rel="icon" href={`/${pageFiles.icon.name}`} />
          <script src="/console.js" defer />
        </head>
        <body>
          <a class="skip" href="#main">
            Skip to content
          </a>
          <TopRow at={at} find={find} person={person} />
          <div class={person && 'frame'}>
            {person && <Menu at={at} person={person} className="side" />}
            <main id="main">
              {storeWarnings.map((warning) => (
                <p class="fault" role="status">
                  {warning}
                </p>
              ))}
              {children}
              {person && <Foot publicBaseUrl={publicBaseUrl} />}
            </main>
          </div>
        </body>
      </html>
    </>
  )
}

const Foot = ({ publicBaseUrl }: { publicBaseUrl: string | undefined }) => (
  <p class="foot">
    Times are in <span class="zone">UTC</span>. Version {build.version}
    {publicBaseUrl !== undefined && (
      <>
        {': '}
        <a href={`${publicBaseUrl.replace(/\/$/, '')}/docs/changelog`}>what is new</a>
      </>
    )}
  </p>
)

const Mark = () => (
  <>
    <img src={`/${pageFiles.icon.name}`} alt="" />
    <span>Outbound messages</span>
  </>
)

interface TopRowProps {
  at: string | undefined
  find: FindBoxProps | undefined
  person: Person | undefined
}

function TopRow({ at, find, person }: TopRowProps) {
  return (
    <header class="top">
      {person && (
        <details class="small-menu">
          <summary>Menu</summary>
          <div class="panel">
            <AccountChooser at={at} id="account-in-menu" />
            <Menu at={at} person={person} />
            <WhoIsIn person={person} />
          </div>
        </details>
      )}
      {person ? (
        <a class="brand" href="/" aria-label="Outbound messages">
          <Mark />
        </a>
      ) : (
        <span class="brand">
          <Mark />
        </span>
      )}
      {person && (
        <>
          <FindBox {...find} />
          <AccountChooser at={at} id="account" />
          <WhoIsIn person={person} />
        </>
      )}
    </header>
  )
}

function Menu({ at, person, className }: { at: string | undefined; person: Person; className?: string }) {
  return (
    <nav aria-label="Pages" class={className}>
      {menu.map(({ group, entries }) => (
        <>
          <p class="group">{group}</p>
          <ul>
            {entries
              .filter(({ role = 'reader' }) => mayAs(person.role, role))
              .map(({ href, name }) => (
                <li>
                  <a href={href} aria-current={at === href ? 'page' : undefined}>
                    {name}
                  </a>
                </li>
              ))}
          </ul>
        </>
      ))}
    </nav>
  )
}

function WhoIsIn({ person: { name, role } }: { person: Person }) {
  const canSignOut = tryGetContext<AdminEnv>()?.var.sessionHash !== undefined
  return (
    <form method="post" action="/logout" class="who">
      <span class="muted">
        <a href="/me" title={name}>
          {name}
        </a>{' '}
        {role}
      </span>
      {canSignOut && <button type="submit">Sign out</button>}
    </form>
  )
}
