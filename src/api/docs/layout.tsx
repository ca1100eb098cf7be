import type { Child } from 'hono/jsx'
import { pageFiles } from '../../platform/http/page-files.ts'
import type { Guide } from './guide.ts'
import { guideGroups } from './guide.ts'
import type { operationsByTag } from './operations.ts'

/** Where a page is: links are relative, so that they hold behind a proxy that adds a path. */
export type Place = '/docs' | '/docs/'

/** The address of the first page, and of what is below it, from a page. */
export const addresses = (place: Place) =>
  place === '/docs'
    ? { home: 'docs', below: (name: string) => `docs/${name}`, root: (name: string) => name }
    : { home: '../docs', below: (name: string) => name, root: (name: string) => `../${name}` }

/** A link to a page, or to a part of this one. */
export interface PageLink {
  name: string
  title: string
}

export interface Contents {
  guides: readonly Guide[]
  tags: ReturnType<typeof operationsByTag>
}

interface LayoutProps extends Contents {
  place: Place
  title: string
  /** The name of this page. */
  at?: string
  /** The parts of this page. */
  outline?: readonly PageLink[]
  before?: PageLink | undefined
  after?: PageLink | undefined
  changedOn?: string | undefined
  query?: string
  children?: Child
}

/** The frame of every page of the clients' documentation. It works without script. */
export function Layout(props: LayoutProps) {
  const { place, title, outline = [], query = '', children } = props
  const { home, below } = addresses(place)
  return (
    <html lang="en">
      <head>
        <meta charset="utf-8" />
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        <meta name="color-scheme" content="light dark" />
        <title>{`${title} – Outbound Messaging API`}</title>
        <link rel="stylesheet" href={below('docs.css')} />
        <link rel="icon" href={below(pageFiles.icon.name)} />
        <script src={below('docs.js')} defer />
      </head>
      <body>
        <a class="skip" href="#main">
          Skip to content
        </a>
        <header class="top">
          <a class="brand" href={home}>
            <img src={below(pageFiles.icon.name)} alt="" width="28" height="28" />
            <span>Outbound docs</span>
          </a>
          <search>
            <form action={below('search')}>
              <label class="unseen" for="q">
                Search
              </label>
              <input id="q" name="q" type="search" value={query} maxlength={200} placeholder="Search" />
              <button type="submit">Search</button>
            </form>
          </search>
          <a class="contents" href="#contents">
            Contents
          </a>
        </header>
        <div class="columns">
          <main id="main">
            {children}
            <Footer {...props} />
          </main>
          {outline.length > 1 && (
            <nav class="outline" aria-label="On this page">
              <h2>On this page</h2>
              <ul>
                {outline.map(({ name, title: part }) => (
                  <li>
                    <a href={`#${name}`}>{part}</a>
                  </li>
                ))}
              </ul>
            </nav>
          )}
          <Side {...props} />
        </div>
      </body>
    </html>
  )
}

function Footer({ place, at, before, after, changedOn }: LayoutProps) {
  const { below } = addresses(place)
  if (!before && !after && at === undefined) return null
  return (
    <footer>
      {(before || after) && (
        <p class="steps">
          {before && (
            <a class="button" rel="prev" href={below(before.name)}>
              {`← ${before.title}`}
            </a>
          )}
          {after && (
            <a class="button after" rel="next" href={below(after.name)}>
              {`${after.title} →`}
            </a>
          )}
        </p>
      )}
      {at !== undefined && (
        <p class="muted">
          {changedOn !== undefined && `Last changed on ${changedOn} · `}
          <a href={below(`${at}.md`)}>This page as Markdown</a>
        </p>
      )}
    </footer>
  )
}

function Side({ place, at, guides, tags }: LayoutProps) {
  const { home, below } = addresses(place)
  const item = (name: string, content: Child) => (
    <li>
      <a href={below(name)} aria-current={at === name ? 'page' : undefined}>
        {content}
      </a>
    </li>
  )
  return (
    <nav id="contents" class="side" aria-label="Contents">
      <p>
        <a href={home}>Overview</a>
      </p>
      {Object.entries(guideGroups).map(([group, names]) => (
        <>
          <h2>{group}</h2>
          <ul>
            {names.map((name) => item(name, guides.find((guide) => guide.name === name)?.title ?? name))}
          </ul>
        </>
      ))}
      {tags.map(({ tag, operations }) => (
        <>
          <h2>{tag.name}</h2>
          <ul>
            {operations.map(({ slug, method, operation }) =>
              item(
                slug,
                <>
                  <Method name={method} /> <span>{operation.summary}</span>
                </>,
              ),
            )}
          </ul>
        </>
      ))}
      <h2>For programs</h2>
      <ul>
        <li>
          <a href={below('schemas')} aria-current={at === 'schemas' ? 'page' : undefined}>
            Schemas
          </a>
        </li>
        <li>
          <a href={addresses(place).root('openapi.json')}>openapi.json</a>
        </li>
        <li>
          <a href={addresses(place).root('llms.txt')}>llms.txt</a>
        </li>
      </ul>
    </nav>
  )
}

/** The method of a route, in its colour. */
export const Method = ({ name }: { name: string }) => (
  <code class={`method ${name.toLowerCase()}`}>{name === 'DELETE' ? 'DEL' : name}</code>
)
