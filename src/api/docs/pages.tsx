import { raw } from 'hono/html'
import type { OpenApiDocument } from '../openapi/document.ts'
import type { JsonSchema } from '../openapi/json-schema.ts'
import type { Guide } from './guide.ts'
import { Prose } from './inline.tsx'
import { addresses, Layout } from './layout.tsx'
import { OperationSection } from './operation-section.tsx'
import { operationIds, operationsByTag } from './operations.ts'
import { SchemaFields, schemaId } from './schema.tsx'
import type { Found } from './search.ts'

type Schemas = Record<string, JsonSchema>

/** The pages of the clients' documentation: the reference, each guide, and what a search finds. */
export function docsPages(document: OpenApiDocument, guides: readonly Guide[]) {
  const tags = operationsByTag(document)
  const entries = tags.map(({ tag, operations }) => ({
    tag: tag.name,
    operations: operations.map(({ id, operation }) => ({ id, name: operation.summary })),
  }))
  const ids = operationIds(document)
  const frame = { guides, entries }

  return {
    reference: () =>
      html(
        <Layout {...frame} place="/docs" title="Reference">
          <Reference document={document} tags={tags} />
        </Layout>,
      ),
    guide: ({ name, title, html: content }: Guide) =>
      html(
        <Layout {...frame} place="/docs/" title={title} at={name}>
          <article>{raw(withLinks(content, ids))}</article>
        </Layout>,
      ),
    search: (query: string, found: readonly Found[]) =>
      html(
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
  }
}

interface ReferenceProps {
  document: OpenApiDocument
  tags: ReturnType<typeof operationsByTag>
}

function Reference({ document, tags }: ReferenceProps) {
  const { below, openapi } = addresses('/docs')
  return (
    <>
      <h1>{document.info.title}</h1>
      <Prose text={document.info.description} />
      <p>
        {'New here? Begin with the '}
        <a href={below('first-send')}>first send</a>
        {'. For machines: '}
        <a href={openapi}>openapi.json</a>
        {', from which '}
        <a href={below('typed-clients')}>typed clients</a>
        {' are made.'}
      </p>
      {tags.map(({ tag, operations }) => (
        <>
          <h2>{tag.name}</h2>
          <p>
            {tag.description}
            {'externalDocs' in tag && tag.externalDocs && (
              <>
                {' Guide: '}
                <a href={below(tag.externalDocs.url.split('/').at(-1) ?? '')}>
                  {tag.externalDocs.description}
                </a>
              </>
            )}
          </p>
          {operations.map((operation) => (
            <OperationSection {...operation} />
          ))}
        </>
      ))}
      <h2>Schemas</h2>
      {Object.entries(document.components.schemas as Schemas).map(([name, schema]) => (
        <section id={schemaId(name)}>
          <h3>{name}</h3>
          <SchemaFields name={name} schema={schema} />
        </section>
      ))}
    </>
  )
}

/** Links each route that a guide names to its operation. */
const withLinks = (content: string, ids: ReadonlyMap<string, string>) =>
  content.replaceAll(/<code>([A-Z]+ \/[^<]*)<\/code>/g, (code, route: string) => {
    const id = ids.get(route)
    return id === undefined ? code : `<a href="${addresses('/docs/').reference}#${id}">${code}</a>`
  })

const html = (page: { toString(): string }) => `<!doctype html>${page.toString()}`
