import type { JsonSchema } from '../openapi/json-schema.ts'
import { SchemaFields, schemaId } from './schema.tsx'

/** All schemas of the document, each behind its name. */
export function Schemas({ schemas }: { schemas: Record<string, JsonSchema> }) {
  return (
    <>
      <h1>Schemas</h1>
      <p>The forms of bodies and answers, as openapi.json has them.</p>
      {Object.entries(schemas).map(([name, schema]) => (
        <section id={schemaId(name)}>
          <h2>{name}</h2>
          <SchemaFields schema={schema} />
        </section>
      ))}
    </>
  )
}
