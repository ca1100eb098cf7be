import type { JsonSchema } from '../openapi/json-schema.ts'
import { basePlaceholder } from './base-url.ts'
import { Prose, Words } from './inline.tsx'
import type { Parameter, PlacedOperation } from './operations.ts'
import { Block, SampleList } from './sample-list.tsx'
import type { SampleRequest } from './samples.ts'
import { Scroll, Type } from './schema.tsx'
import { TryIt } from './try-it.tsx'

interface Content {
  schema?: JsonSchema
  example?: unknown
  examples?: Record<string, { summary: string; value: unknown }>
}

const examplesOf = ({ example, examples }: Content) =>
  examples ? Object.values(examples) : example === undefined ? [] : [{ summary: 'Example', value: example }]

/** An operation of the reference: what it takes, how to call it, and each answer. */
export function OperationSection({ id, method, path, operation }: PlacedOperation) {
  const { summary, description, responses } = operation
  const parameters = (operation.parameters ?? []) as Parameter[]
  const body = operation.requestBody as { description?: string; content: Record<string, Content> } | undefined
  const json = body?.content['application/json']
  const bodies = json ? examplesOf(json) : []
  const permissions = operation['x-permissions'] ?? []
  const request =
    path === undefined
      ? undefined
      : { ...requestOf(method, path, parameters, bodies[0]?.value), hasKey: permissions.length > 0 }
  return (
    <section class="operation" id={id}>
      <h3>{summary}</h3>
      <p class="route">
        <code>{method}</code> <code>{path ?? 'your URL'}</code>
      </p>
      {permissions.length > 0 && (
        <p>
          {'Permission: '}
          <code>{permissions.join(' or ')}</code>
        </p>
      )}
      {description !== undefined && <Prose text={description} />}
      {parameters.length > 0 && (
        <Parameters of={path === undefined ? summary : `${method} ${path}`} parameters={parameters} />
      )}
      {body && (
        <>
          <h4>Body</h4>
          {body.description !== undefined && <Prose text={body.description} />}
          {json?.schema && (
            <p>
              <Type schema={json.schema} />
            </p>
          )}
          <Examples list={bodies} />
        </>
      )}
      {request && (
        <>
          <h4>Request</h4>
          <SampleList request={request} />
          <TryIt id={id} method={method} path={path ?? ''} parameters={parameters} body={bodies[0]?.value} />
        </>
      )}
      <h4>Answers</h4>
      {Object.entries(responses).map(([status, answer]) => {
        const content: Content = answer.content?.['application/json'] ?? {}
        return (
          <div class="answer">
            <p>
              <code>{status}</code> <Words text={answer.description} />{' '}
              {content.schema && <Type schema={content.schema} />}
            </p>
            <Examples list={examplesOf(content)} />
          </div>
        )
      })}
    </section>
  )
}

function Parameters({ of, parameters }: { of: string; parameters: readonly Parameter[] }) {
  return (
    <>
      <h4>Parameters</h4>
      <Scroll label={`Parameters: ${of}`}>
        <table>
          <thead>
            <tr>
              <th>Name</th>
              <th>Type</th>
              <th>Meaning</th>
            </tr>
          </thead>
          <tbody>
            {parameters.map(({ name, in: place, required, schema, description = '' }) => (
              <tr>
                <td>
                  <code>{name}</code>
                  <small>{` ${place}${required ? ', required' : ''}`}</small>
                </td>
                <td>
                  <Type schema={schema} />
                </td>
                <td>
                  <Words text={description} />
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      </Scroll>
    </>
  )
}

function Examples({ list }: { list: readonly { summary: string; value: unknown }[] }) {
  return list.map(({ summary, value }) => (
    <details>
      <summary>{summary}</summary>
      <Block text={JSON.stringify(value, null, 2)} />
    </details>
  ))
}

function requestOf(
  method: string,
  path: string,
  parameters: readonly Parameter[],
  body: unknown,
): Omit<SampleRequest, 'hasKey'> {
  const example = (name: string) => parameters.find((one) => one.name === name)?.example ?? name
  const takesKey = parameters.some(({ name }) => name === 'Idempotency-Key')
  return {
    method,
    url: basePlaceholder + path.replaceAll(/\{(\w+)\}/g, (_, name: string) => example(name)),
    headers: takesKey ? { 'Idempotency-Key': 'order-4711-shipped' } : {},
    ...(body !== undefined && { body }),
  }
}
