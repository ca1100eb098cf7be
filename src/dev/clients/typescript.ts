import { execFile } from 'node:child_process'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import {
  type ClientOperation,
  callbackSchemas,
  clientDocument,
  errorClasses,
  operationsOf,
} from './operations.ts'

const header = '// Written by `npm run clients` from the OpenAPI document, not by hand.\n'
const root = fileURLToPath(new URL('../../..', import.meta.url))

/** The generated files of the TypeScript client, by their names in its src/generated. */
export async function typescriptFiles(): Promise<Record<string, string>> {
  const document = clientDocument()
  return {
    'schema.ts': header + (await schemaOf(document)),
    'routes.ts': `${header}${routesText(operationsOf(document))}`,
    'callback.ts': `${header}import type { ${callbackSchemas(document).join(', ')} } from './schema.ts'

/** The body of a callback, as an endpoint gets it. Its \`type\` says which. */
export type Callback = ${callbackSchemas(document).join(' | ')}
`,
    'errors.ts': header + errorsText(),
  }
}

/** The types that openapi-typescript makes of a document. It runs apart, with the compiler that it is made for. */
async function schemaOf(document: object): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'openapi-'))
  const file = join(folder, 'openapi.json')
  await writeFile(file, JSON.stringify(document))
  const loader = ['--import', './src/dev/clients/typescript-5.mjs']
  const cli = 'node_modules/openapi-typescript/bin/cli.js'
  const flags = ['--root-types', '--root-types-no-schema-prefix', '--default-non-nullable=false']
  const output = ['-o', join(folder, 'schema.ts')]
  try {
    await promisify(execFile)(process.execPath, [...loader, cli, file, ...flags, ...output], { cwd: root })
    return await readFile(join(folder, 'schema.ts'), 'utf8')
  } finally {
    await rm(folder, { recursive: true })
  }
}

const routesText = (
  operations: readonly ClientOperation[],
) => `import type { CallOptions, Caller, KeyedOptions } from '../call.ts'
import type { Pages } from '../pages.ts'
import type { Answer, Body, DryRunOf, Query } from '../operation-types.ts'

/** Every route of the API that is for clients, as a method. */
export abstract class Routes {
  protected abstract readonly call: Caller

${operations.map(methodText).join('\n\n')}
}
`

function methodText(operation: ClientOperation): string {
  const { name, operationId, method, path, params, query, body, isKeyed, isRepeatable, isDryRun, items } =
    operation
  const given = [
    ...params.map((param) => `${param}: string`),
    ...(body ? [`body: Body<'${operationId}'>${body.isRequired ? '' : ' = {}'}`] : []),
    ...(query.length > 0
      ? [`query: Query<'${operationId}'>${query.some(({ required }) => required) ? '' : ' = {}'}`]
      : []),
    `options: ${isKeyed ? 'KeyedOptions' : 'CallOptions'} = {}`,
  ].join(', ')
  const segments = path.replaceAll(/\{(\w+)\}/g, (_, param: string) => `\${this.call.segment(${param})}`)
  const url = `\`${segments}\``
  const request = [
    `method: '${method}'`,
    `path: ${params.length > 0 ? url : `'${path}'`}`,
    ...(query.length > 0 ? ['query'] : []),
    ...(isDryRun ? ["query: { dryRun: 'true' }"] : []),
    ...(body ? ['body'] : []),
    ...(isKeyed ? ['isKeyed: true'] : []),
    ...(isRepeatable ? ['isRepeatable: true'] : []),
    'options',
  ].join(', ')
  const comment = commentOf(operation)
  if (items)
    return `${comment}  ${name}(${given}): Pages<Answer<'${name}'>, '${items.field}'> {
    return this.call.pages('${items.field}', { ${request} })
  }`
  return `${comment}  ${name}(${given}): Promise<${isDryRun ? 'DryRunOf' : 'Answer'}<'${operationId}'>> {
    return this.call.once({ ${request} })
  }`
}

function commentOf({ summary, description, body, query, params, isKeyed }: ClientOperation): string {
  const lines = [
    `${summary}.`,
    '',
    ...description.split('\n'),
    '',
    ...params.map((param) => `@param ${param} as an answer of the API has it.`),
    ...(body ? ['@param body the JSON of the request.'] : []),
    ...(query.length > 0 ? [`@param query what is asked for${neededText(query)}.`] : []),
    `@param options ${isKeyed ? 'an `idempotencyKey` of your own, and a `signal`' : 'a `signal` that ends the call'}.`,
  ]
  const text = lines.map((line) => `   * ${line}`.trimEnd().replaceAll('*/', '*\\/'))
  return `  /**\n${text.join('\n')}\n   */\n`
}

function neededText(query: ClientOperation['query']): string {
  const needed = query.filter(({ required }) => required).map(({ name }) => `\`${name}\``)
  return needed.length === 0 ? '; all is optional' : `; it needs ${needed.join(' and ')}`
}

const errorsText = () => `import { ApiError } from '../errors.ts'

${errorClasses
  .map(
    ({ className, code, status, why, fix }) =>
      `/** ${status} \`${code}\`: ${why} ${fix} */\nexport class ${className} extends ApiError {}`,
  )
  .join('\n\n')}

/** The class of each \`Error-Code\`. */
export const errorClasses = {
${errorClasses.map(({ code, className }) => `  ${code}: ${className},`).join('\n')}
}
`
