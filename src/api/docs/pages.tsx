import { raw } from 'hono/html'
import type { Child } from 'hono/jsx'
import type { OpenApiDocument } from '../openapi/document.ts'
import type { JsonSchema } from '../openapi/json-schema.ts'
import { Highlighting } from './code-block.tsx'
import { type Guide, guideNames } from './guide.ts'
import type { Highlight } from './highlight.ts'
import { Landing } from './landing.tsx'
import { addresses, Layout, type PageLink, type Place } from './layout.tsx'
import { OperationPage, partsOf } from './operation-page.tsx'
import { operationSlugs, operationsByTag } from './operations.ts'
import { Schemas } from './schemas-page.tsx'
import type { Found } from './search.ts'

/** The pages of the clients' documentation: the first one, each guide, each route, the schemas, and what a search finds. */
export function docsPages(document: OpenApiDocument, guides: readonly Guide[], highlight: Highlight) {
  const tags = operationsByTag(document)
  const operations = tags.flatMap((each) => each.operations)
  const slugs = operationSlugs(document)
  const schemas = document.components.schemas as Record<string, JsonSchema>
  const frame = { guides, tags }
  const order: PageLink[] = [
    ...guideNames.map((name) => ({
      name,
      title: guides.find((guide) => guide.name === name)?.title ?? name,
    })),
    ...operations.map(({ slug, operation }) => ({ name: slug, title: operation.summary })),
  ]
  const neighbours = (name: string) => {
    const at = order.findIndex((link) => link.name === name)
    return { before: order[at - 1], after: order[at + 1] }
  }
  const page = (content: Child) =>
    `<!doctype html>${(<Highlighting.Provider value={highlight}>{content}</Highlighting.Provider>).toString()}`

  return {
    operations,
    landing: (place: Place) =>
      page(
        <Layout {...frame} place={place} title="Overview">
          <Landing place={place} document={document} {...frame} />
        </Layout>,
      ),
    guide: (guide: Guide) =>
      page(
        <Layout
          {...frame}
          {...neighbours(guide.name)}
          place="/docs/"
          title={guide.title}
          at={guide.name}
          changedOn={guide.changedOn}
          outline={outlineOf(guide)}
        >
          <article>{raw(withLinks(guide.html, slugs))}</article>
        </Layout>,
      ),
    operation: (slug: string) => {
      const placed = operations.find((one) => one.slug === slug)
      if (!placed) throw new Error(`There is no operation ${slug}`)
      return page(
        <Layout
          {...frame}
          {...neighbours(slug)}
          place="/docs/"
          title={placed.operation.summary}
          at={slug}
          outline={partsOf(placed)}
        >
          <OperationPage {...placed} schemas={schemas} />
        </Layout>,
      )
    },
    schemas: () =>
      page(
        <Layout {...frame} place="/docs/" title="Schemas" at="schemas">
          <Schemas schemas={schemas} />
        </Layout>,
      ),
    search: (query: string, found: readonly Found[]) =>
      page(
        <Layout {...frame} place="/docs/" title="Search" query={query}>
          <h1>{found.length === 0 ? 'Nothing found' : `Found: ${found.length}`}</h1>
          {found.length === 0 && <p>Try fewer or other words.</p>}
          <ul class="found">
            {found.map(({ href, title, heading, excerpt }) => (
              <li>
                <a href={href}>{heading === title ? title : `${title}: ${heading}`}</a>
                <p>{excerpt}</p>
              </li>
            ))}
          </ul>
        </Layout>,
      ),
    notFound: () =>
      page(
        <Layout {...frame} place="/docs/" title="Not found">
          <h1>There is no such page</h1>
          <p>
            {'It may have another name now. Search for it, or go to the '}
            <a href={addresses('/docs/').home}>overview</a>.
          </p>
        </Layout>,
      ),
  }
}

const outlineOf = ({ sections }: Guide): PageLink[] =>
  sections.filter(({ depth }) => depth === 2).map(({ id, heading }) => ({ name: id, title: heading }))

/** Links each route that a guide names to its page. */
const withLinks = (content: string, slugs: ReadonlyMap<string, string>) =>
  content.replaceAll(/<code>([A-Z]+ \/[^<]*)<\/code>/g, (code, route: string) => {
    const slug = slugs.get(route)
    return slug === undefined ? code : `<a href="${slug}">${code}</a>`
  })
