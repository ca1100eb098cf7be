import type { OpenApiDocument } from '../openapi/document.ts'
import type { JsonSchema } from '../openapi/json-schema.ts'
import { basePlaceholder } from './base-url.ts'
import { type Guide, guideGroups } from './guide.ts'
import { bodyOf, type Content, examplesOf, parametersOf, sampleOf } from './operation-parts.ts'
import { operationsByTag, type PlacedOperation } from './operations.ts'
import { samplesOf } from './samples.ts'
import { allFields } from './schema.tsx'

const page = (name: string) => `${basePlaceholder}/docs/${name}.md`
const fenced = (language: string, text: string) => `\`\`\`${language}\n${text}\n\`\`\``

/** The page of an operation as Markdown, for programs that read documentation. */
export function operationMarkdown(placed: PlacedOperation, schemas: Record<string, JsonSchema>): string {
  const { method, path, operation } = placed
  const json = bodyOf(operation)?.content['application/json']
  const request = sampleOf(placed)
  const [curl] = request ? samplesOf(request) : []
  const permissions = operation['x-permissions'] ?? []
  return [
    `# ${operation.summary}`,
    `\`${method} ${path ?? 'your URL'}\``,
    ...(permissions.length > 0 ? [`Permission: ${permissions.join(' or ')}`] : []),
    operation.description ?? '',
    ...(curl ? ['## Request', fenced('sh', curl.code)] : []),
    ...list(
      'Parameters',
      parametersOf(operation).map(
        ({ name, in: place, required, description = '' }) =>
          `\`${name}\` (${place}${required && place === 'query' ? ', required' : ''}): ${description}`,
      ),
    ),
    ...list('Body', json?.schema ? allFields(json.schema, schemas).map(fieldLine) : []),
    '## Answers',
    ...Object.entries(operation.responses).flatMap(([status, { description, content }]) => {
      const [example] = examplesOf((content?.['application/json'] as Content | undefined) ?? {})
      return [
        `### ${status}`,
        description,
        ...(example ? [fenced('json', JSON.stringify(example.value))] : []),
      ]
    }),
  ]
    .filter(Boolean)
    .join('\n\n')
    .concat('\n')
}

const list = (heading: string, lines: readonly string[]) =>
  lines.length === 0 ? [] : [`## ${heading}`, lines.map((line) => `- ${line}`).join('\n')]

const fieldLine = ({ path, isRequired, field }: ReturnType<typeof allFields>[number]) =>
  `\`${path}\`${isRequired ? ' (required)' : ''}: ${field.description ?? ''}`.replaceAll('\n', ' ')

/** The page of the schemas as Markdown. */
export const schemasMarkdown = (schemas: Record<string, JsonSchema>): string =>
  Object.entries(schemas)
    .map(([name, schema]) => {
      const fields = allFields(schema, {}).map((field) => `- ${fieldLine(field)}`)
      return [`## ${name}`, schema.description ?? '', fields.join('\n')].filter(Boolean).join('\n\n')
    })
    .reduce((before, section) => `${before}\n\n${section}`, '# Schemas')
    .concat('\n')

/** https://llmstxt.org: what the documentation has, for programs that read it. */
export function llmsText(document: OpenApiDocument, guides: readonly Guide[]): string {
  const guideLine = (name: string) => {
    const guide = guides.find((one) => one.name === name)
    return `- [${guide?.title}](${page(name)}): ${guide?.about}`
  }
  return [
    `# ${document.info.title}`,
    '> Sends one message to one contact, by SMS, chat or e-mail, and records its state and timeline.',
    `All of it for machines: [openapi.json](${basePlaceholder}/openapi.json), OpenAPI 3.1.`,
    ...Object.entries(guideGroups).map(
      ([group, names]) => `## ${group}\n\n${names.map(guideLine).join('\n')}`,
    ),
    ...operationsByTag(document).map(
      ({ tag, operations }) =>
        `## ${tag.name}\n\n${operations.map(({ slug, method, path, operation }) => `- [${method} ${path ?? 'your URL'}](${page(slug)}): ${operation.summary}`).join('\n')}`,
    ),
  ]
    .join('\n\n')
    .concat('\n')
}
