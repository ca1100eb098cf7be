import type { Child } from 'hono/jsx'
import type { Guide } from './guide.ts'

/** Where a page is: links are relative, so that they hold behind a proxy that adds a path. */
export type Place = '/docs' | '/docs/'

/** The address of the reference, and of what is below it, from a page. */
export const addresses = (place: Place) =>
  place === '/docs'
    ? { reference: 'docs', below: (name: string) => `docs/${name}`, openapi: 'openapi.json' }
    : { reference: '../docs', below: (name: string) => name, openapi: '../openapi.json' }

/** A link of the menu within the reference. */
export interface Entry {
  id: string
  name: string
}

interface LayoutProps {
  place: Place
  title: string
  /** The guide that is shown. */
  at?: string
  guides: readonly Guide[]
  /** The sections of the reference. */
  entries: readonly { tag: string; operations: readonly Entry[] }[]
  query?: string
  children?: Child
}

/** The frame of every page of the clients' documentation. It works without script. */
export function Layout({ place, title, at, guides, entries, query = '', children }: LayoutProps) {
  const { reference, below } = addresses(place)
  return (
    <html lang="en">
      <head>
        <meta charset="utf-8" />
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        <meta name="color-scheme" content="light dark" />
        <title>{`${title} – Outbound Messaging API`}</title>
        <link rel="stylesheet" href={below('docs.css')} />
        <link rel="icon" href={below('icon.svg')} />
        <script src={below('try.js')} defer />
      </head>
      <body>
        <a class="skip" href="#main">
          Skip to content
        </a>
        <header class="top">
          <a class="brand" href={reference}>
            Outbound Messaging API
          </a>
          <a class="contents" href="#contents">
            Contents
          </a>
          <search>
            <form action={below('search')}>
              <label for="q">Search</label>
              <input id="q" name="q" type="search" value={query} maxlength={200} />
              <button type="submit">Search</button>
            </form>
          </search>
        </header>
        <div class="columns">
          <main id="main">{children}</main>
          <nav id="contents" aria-label="Contents">
            <h2>Guides</h2>
            <ul>
              {guides.map(({ name, title }) => (
                <li>
                  <a href={below(name)} aria-current={at === name ? 'page' : undefined}>
                    {title}
                  </a>
                </li>
              ))}
            </ul>
            <h2>
              <a href={reference}>Reference</a>
            </h2>
            {entries.map(({ tag, operations }) => (
              <>
                <h3>{tag}</h3>
                <ul>
                  {operations.map(({ id, name }) => (
                    <li>
                      <a href={place === '/docs' ? `#${id}` : `${reference}#${id}`}>{name}</a>
                    </li>
                  ))}
                </ul>
              </>
            ))}
          </nav>
        </div>
      </body>
    </html>
  )
}
