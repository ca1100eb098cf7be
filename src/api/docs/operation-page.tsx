import { raw } from 'hono/html'
import { useContext } from 'hono/jsx'
import type { JsonSchema } from '../openapi/json-schema.ts'
import { Block, blockHtml, Highlighting } from './code-block.tsx'
import { Prose, Words } from './inline.tsx'
import { Method, type PageLink } from './layout.tsx'
import { bodyOf, type Content, examplesOf, parametersOf, sampleOf } from './operation-parts.ts'
import type { Parameter, PlacedOperation } from './operations.ts'
import { sampleTabs } from './sample-tabs.ts'
import { type SampleRequest, samplesOf } from './samples.ts'
import { FieldList, SchemaFields, Type } from './schema.tsx'
import { TryIt } from './try-it.tsx'

/** The parts of the page of an operation. */
export const partsOf = ({ path, operation }: PlacedOperation): PageLink[] => [
  ...(path === undefined ? [] : [{ name: 'request', title: 'Request' }]),
  ...(operation.parameters ? [{ name: 'parameters', title: 'Parameters' }] : []),
  ...(operation.requestBody ? [{ name: 'body', title: 'Body' }] : []),
  { name: 'answers', title: 'Answers' },
]

interface OperationPageProps extends PlacedOperation {
  schemas: Record<string, JsonSchema>
}

/** An operation: how to call it, what it takes, and each answer. */
export function OperationPage({ schemas, ...placed }: OperationPageProps) {
  const { id, method, path, operation } = placed
  const { summary, description, responses } = operation
  const parameters = parametersOf(operation)
  const body = bodyOf(operation)
  const json = body?.content['application/json']
  const bodies = json ? examplesOf(json) : []
  const permissions = operation['x-permissions'] ?? []
  const request = sampleOf(placed)
  return (
    <article id={id} class="operation">
      <h1>{summary}</h1>
      <p class="route">
        <Method name={method} /> <code>{path ?? 'your URL'}</code>
      </p>
      {permissions.length > 0 && (
        <p>
          {permissions.length === 1 ? 'Permission: ' : 'One of the permissions: '}
          <Words text={permissions.map((permission) => `\`${permission}\``).join(', ')} />
        </p>
      )}
      {description !== undefined && <Prose text={description} />}
      {request && (
        <>
          <h2 id="request">Request</h2>
          <Samples request={request} />
          <TryIt id={id} method={method} path={path ?? ''} parameters={parameters} body={bodies[0]?.value} />
        </>
      )}
      {parameters.length > 0 && <Parameters parameters={parameters} />}
      {body && (
        <>
          <h2 id="body">Body</h2>
          {body.description !== undefined && <Prose text={body.description} />}
          {json?.schema && <SchemaFields schema={json.schema} schemas={schemas} />}
          <Examples list={bodies} />
        </>
      )}
      <h2 id="answers">Answers</h2>
      {Object.entries(responses).map(([status, answer]) => {
        const content: Content = answer.content?.['application/json'] ?? {}
        return (
          <section>
            <h3>
              <code>{status}</code> <Words text={answer.description} />
            </h3>
            {content.schema && (
              <p>
                {'Body: '}
                <Type schema={content.schema} />
              </p>
            )}
            <Codes of={answer} />
            <Examples list={examplesOf(content)} />
          </section>
        )
      })}
    </article>
  )
}

/** The kinds of errors of an answer, each with its section of the guide about errors. */
function Codes({ of }: { of: PlacedOperation['operation']['responses'][string] }) {
  // A callback's answers are the client's, without headers.
  const { headers = {} }: Partial<typeof of> = of
  const header = headers['Error-Code']
  const codes = header && 'schema' in header ? ((header.schema.enum ?? []) as string[]) : []
  if (codes.length === 0) return null
  return (
    <p>
      <code>Error-Code</code>
      {': '}
      {codes.map((code, index) => (
        <>
          {index > 0 && ', '}
          <a href={`errors#${code}`}>
            <code>{code}</code>
          </a>
        </>
      ))}
    </p>
  )
}

function Samples({ request }: { request: SampleRequest }) {
  const highlight = useContext(Highlighting)
  const tabs = samplesOf(request).map(({ language, code, name }) => ({
    language,
    html: blockHtml(code, name, highlight),
  }))
  return raw(sampleTabs('samples', tabs))
}

const Parameters = ({ parameters }: { parameters: readonly Parameter[] }) => (
  <>
    <h2 id="parameters">Parameters</h2>
    <FieldList
      fields={parameters.map(({ name, in: place, required = false, schema, description = '' }) => ({
        path: name,
        place: `in the ${place}`,
        isRequired: required,
        field: { ...schema, description },
      }))}
    />
  </>
)

function Examples({ list }: { list: readonly { summary: string; value: unknown }[] }) {
  return list.map(({ summary, value }) => (
    <details>
      <summary>{summary}</summary>
      <Block text={JSON.stringify(value, null, 2)} language="json" />
    </details>
  ))
}
