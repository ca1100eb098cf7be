import type { OpenApiDocument } from '../openapi/document.ts'
import type { Guide } from './guide.ts'
import { addresses } from './layout.tsx'
import { operationsByTag } from './operations.ts'

/** A section that has all words of a query. */
export interface Found {
  href: string
  title: string
  heading: string
  excerpt: string
}

const mostFound = 30
const excerptLength = 200

/** The search of the documentation: sections of the guides and operations, those with the words in their heading first. */
export function buildSearch(document: OpenApiDocument, guides: readonly Guide[]) {
  const { reference, below } = addresses('/docs/')
  const sections = [
    ...guides.flatMap(({ name, title, sections }) =>
      sections.map(({ id, heading, text }) => ({ href: `${below(name)}#${id}`, title, heading, text })),
    ),
    ...operationsByTag(document).flatMap(({ operations }) =>
      operations.map(({ id, method, path, operation }) => ({
        href: `${reference}#${id}`,
        title: 'Reference',
        heading: operation.summary,
        text: [
          `${method} ${path ?? 'your URL'}`,
          operation.description,
          ...parameterTexts(operation.parameters),
        ]
          .join(' ')
          .replaceAll('`', ''),
      })),
    ),
  ].map((section) => ({
    ...section,
    headings: `${section.title} ${section.heading}`.toLowerCase(),
    words: section.text.toLowerCase(),
  }))

  return (query: string): Found[] => {
    const words = query.toLowerCase().split(/\s+/).filter(Boolean)
    if (words.length === 0) return []
    return sections
      .filter(({ headings, words: text }) =>
        words.every((word) => headings.includes(word) || text.includes(word)),
      )
      .map((section) => ({ section, rank: words.filter((word) => section.headings.includes(word)).length }))
      .sort((one, other) => other.rank - one.rank)
      .slice(0, mostFound)
      .map(({ section: { href, title, heading, text, words: lower } }) => {
        const from = Math.max(0, lower.indexOf(words[0] ?? '') - excerptLength / 4)
        const excerpt = text.slice(from, from + excerptLength).trim()
        return { href, title, heading, excerpt: `${from > 0 ? '…' : ''}${excerpt}` }
      })
  }
}

const parameterTexts = (parameters: object[] = []) =>
  (parameters as { name: string; description?: string }[]).map(
    ({ name, description = '' }) => `${name}: ${description}`,
  )
