import MiniSearch from 'minisearch'
import type { OpenApiDocument } from '../openapi/document.ts'
import type { JsonSchema } from '../openapi/json-schema.ts'
import type { Guide } from './guide.ts'
import { bodyOf, parametersOf } from './operation-parts.ts'
import { operationsByTag, type PlacedOperation } from './operations.ts'
import { allFields } from './schema.tsx'

/** A section that fits a query. */
export interface Found {
  href: string
  title: string
  heading: string
  excerpt: string
}

interface Entry extends Omit<Found, 'excerpt'> {
  id: number
  text: string
}

const mostFound = 20
const excerptLength = 200
/** Shorter words are found as they are written: else two letters would match most of the pages. */
const shortestPrefix = 3
const shortestFuzzy = 4

/**
 * The search of the documentation: sections of the guides, and operations, those with the words in their headings first. It takes
 * beginnings of words, and words with a mistake in five letters.
 */
export function buildSearch(document: OpenApiDocument, guides: readonly Guide[]) {
  const schemas = document.components.schemas as Record<string, JsonSchema>
  const entries = [
    ...guides.flatMap(({ name, title, sections }) =>
      sections.map(({ id, heading, text }) => ({ href: `${name}#${id}`, title, heading, text })),
    ),
    ...operationsByTag(document)
      .flatMap(({ operations }) => operations)
      .map((placed) => ({
        href: placed.slug,
        title: placed.tag,
        heading: placed.operation.summary,
        text: textOf(placed, schemas),
      })),
  ].map((entry, id): Entry => ({ id, ...entry }))
  const index = new MiniSearch<Entry>({
    fields: ['heading', 'title', 'text'],
    searchOptions: {
      boost: { heading: 4, title: 2 },
      prefix: (word) => word.length >= shortestPrefix,
      fuzzy: (word) => (word.length >= shortestFuzzy ? 0.2 : false),
      combineWith: 'AND',
    },
  })
  index.addAll(entries)

  return (query: string): Found[] =>
    index
      .search(query)
      .slice(0, mostFound)
      .flatMap(({ id, terms }) => {
        const entry = entries[id as number]
        return entry ? [{ ...entry, excerpt: excerptOf(entry.text, terms) }] : []
      })
}

function textOf({ method, path, operation }: PlacedOperation, schemas: Record<string, JsonSchema>): string {
  const body = bodyOf(operation)?.content['application/json']?.schema
  const fields = body ? allFields(body, schemas) : []
  return [
    `${method} ${path ?? 'your URL'}`,
    operation.description,
    operation.operationId,
    ...parametersOf(operation).map(({ name, description = '' }) => `${name}: ${description}`),
    ...fields.map(({ path: field, field: { description = '' } }) => `${field}: ${description}`),
  ]
    .join(' ')
    .replaceAll('`', '')
}

/** The text around the first of the words that were found. */
function excerptOf(text: string, words: readonly string[]): string {
  const lower = text.toLowerCase()
  const places = words.map((word) => lower.indexOf(word)).filter((place) => place >= 0)
  const from = Math.max(0, Math.min(...places, text.length) - excerptLength / 4)
  const start = places.length === 0 || from === 0 ? 0 : text.indexOf(' ', from) + 1
  const end = start + excerptLength
  const cut = text.slice(start, end)
  const whole = end < text.length ? `${cut.slice(0, cut.lastIndexOf(' '))} …` : cut
  return `${start > 0 ? '… ' : ''}${whole}`
}
