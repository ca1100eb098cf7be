import type { JsonSchema } from '../../api/openapi/json-schema.ts'
import {
  type ClientOperation,
  callbackSchemas,
  clientDocument,
  errorClasses,
  operationsOf,
} from './operations.ts'
import { docOf, keywords, PythonTypes } from './python-types.ts'

const header = '# Written by `npm run clients` from the OpenAPI document, not by hand.\n'
const typing = 'from typing import Any, Dict, List, Literal, Optional, TypedDict, Union\n'

/** The generated modules of the Python client, by their names in its package. */
export function pythonFiles(): Record<string, string> {
  const document = clientDocument()
  const operations = operationsOf(document)
  const callbacks = callbackSchemas(document).map((name) => `"${name}"`)
  return {
    'types.py': `${header}"""The JSON of requests and answers, by the names of the OpenAPI document."""
${typing}

${PythonTypes.moduleOf(document.components.schemas)}
Callback = Union[${callbacks.join(', ')}]
"""The body of a callback, as an endpoint gets it. Its \`type\` says which."""
`,
    '_routes.py': `${header}"""Every route of the API that is for clients, as a method: for plain calls, and for asyncio."""
from typing import Any, AsyncIterator, Dict, Iterator, List, Literal, Optional, Union

from . import types
from ._call import segment


class Routes:
    """The methods of \`Client\`."""

    def _once(self, method: str, path: str, **call: Any) -> Any:
        raise NotImplementedError

    def _items(self, field: str, path: str, query: Dict[str, Any]) -> Iterator[Any]:
        raise NotImplementedError

${operations.map((operation) => methodText(operation, false)).join('\n')}

class AsyncRoutes:
    """The methods of \`AsyncClient\`."""

    async def _once(self, method: str, path: str, **call: Any) -> Any:
        raise NotImplementedError

    def _items(self, field: str, path: str, query: Dict[str, Any]) -> AsyncIterator[Any]:
        raise NotImplementedError

${operations
  .map((operation) => methodText(operation, true))
  .join('\n')
  .trimEnd()}
`,
    '_error_classes.py': `${header}"""The class of each \`Error-Code\`."""
from typing import Dict, Type

from ._errors import ApiError

${errorClasses.map(({ className, code, status, why, fix }) => `\nclass ${className}(ApiError):${docOf(`${status} \`${code}\`: ${why} ${fix}`)}\n`).join('\n')}

ERROR_CLASSES: Dict[str, Type[ApiError]] = {
${errorClasses.map(({ className, code }) => `    "${code}": ${className},`).join('\n')}
}
`,
  }
}

/** `getMessage` is get_message, and `from`, a word of Python, is from_. */
function snake(name: string): string {
  const snaked = name.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)
  return keywords.includes(snaked) ? `${snaked}_` : snaked
}

function methodText(operation: ClientOperation, isAsync: boolean): string {
  const { name, method, path, params, body, isKeyed, isRepeatable, isDryRun, items, answer } = operation
  const { query } = operation
  const named = [
    ...(isKeyed ? ['idempotency_key: Optional[str] = None'] : []),
    ...query.map(({ name, schema, required }) =>
      required
        ? `${snake(name)}: ${annotation(schema)}`
        : `${snake(name)}: Optional[${annotation(schema)}] = None`,
    ),
  ]
  const given = [
    'self',
    ...params.map((param) => `${snake(param)}: str`),
    ...(body ? [`body: "types.${body.schema}"${body.isRequired ? '' : ' = {}'}`] : []),
    ...(named.length > 0 ? ['*', ...named] : []),
  ]
  const url = path.replaceAll(/\{(\w+)\}/g, (_, param: string) => `{segment(${snake(param)})}`)
  const queryText = `{${query.map((one) => `"${one.name}": ${snake(one.name)}`).join(', ')}}`
  const shownPath = `${params.length > 0 ? 'f' : ''}"${url}"`
  const call = [
    ...[`"${method}"`, shownPath],
    ...(query.length > 0 ? [`query=${queryText}`] : []),
    ...(isDryRun ? ['query={"dryRun": "true"}'] : []),
    ...(body ? ['body=body'] : []),
    ...(isKeyed ? ['is_keyed=True, idempotency_key=idempotency_key'] : []),
    ...(isRepeatable ? ['is_repeatable=True'] : []),
  ].join(', ')
  const doc = docOf(
    `${operation.summary}.\n\n${operation.description}${argumentsText(operation)}\n`,
    '        ',
  )
  const signature = `(\n        ${given.join(',\n        ')},\n    )`
  if (items)
    return `    def ${snake(name)}${signature} -> ${isAsync ? 'AsyncIterator' : 'Iterator'}["types.${items.schema}"]:${doc}
        return self._items("${items.field}", ${shownPath}, ${queryText})
`
  return `    ${isAsync ? 'async ' : ''}def ${snake(name)}${signature} -> ${answer === undefined ? 'None' : `"types.${answer}"`}:${doc}
        return ${isAsync ? 'await ' : ''}self._once(${call})
`
}

const annotation = (schema: JsonSchema): string => new PythonTypes().typeOf(schema, '', 'types.')

function argumentsText({ query, isKeyed }: ClientOperation): string {
  const lines = [
    ...query.map((one) => `${snake(one.name)}: ${one.description}`),
    ...(isKeyed
      ? [
          'idempotency_key: an id of your own for this request. Without one, each call makes a key, which its repeats share.',
        ]
      : []),
  ]
  return lines.length === 0 ? '' : `\n\n${lines.join('\n')}`
}
