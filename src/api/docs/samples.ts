/** A request to show as code. `body` is absent for one without. */
export interface SampleRequest {
  method: string
  url: string
  hasKey: boolean
  headers: Record<string, string>
  body?: unknown
}

/** A request in the languages that the docs show, each with its name in Markdown. The key is read from the environment. */
export const samplesOf = (request: SampleRequest) => [
  { language: 'curl', name: 'sh', code: curl(request) },
  { language: 'JavaScript', name: 'js', code: javaScript(request) },
  { language: 'Python', name: 'py', code: python(request) },
]

const isJson = { 'Content-Type': 'application/json' }

const headersOf = ({ headers, body }: SampleRequest) => ({ ...headers, ...(body !== undefined && isJson) })

function curl(request: SampleRequest): string {
  const { method, url, hasKey, body } = request
  const isImplied = method === (body === undefined ? 'GET' : 'POST')
  return [
    `curl -sS ${isImplied ? '' : `-X ${method} `}${shellQuoted(url)}`,
    ...(hasKey ? ['-H "Authorization: Bearer $API_KEY"'] : []),
    ...Object.entries(headersOf(request)).map(([name, value]) => `-H ${shellQuoted(`${name}: ${value}`)}`),
    ...(body === undefined ? [] : [`-d ${shellQuoted(JSON.stringify(body, null, 2))}`]),
  ].join(' \\\n  ')
}

const shellQuoted = (text: string) => `'${text.replaceAll("'", String.raw`'\''`)}'`

function javaScript(request: SampleRequest): string {
  const { method, url, hasKey, body } = request
  const headers = Object.entries(headersOf(request)).map(
    ([name, value]) => `    ${JSON.stringify(name)}: ${JSON.stringify(value)},`,
  )
  // biome-ignore lint/suspicious/noTemplateCurlyInString: it is a template of the sample.
  if (hasKey) headers.unshift('    Authorization: `Bearer ${process.env.API_KEY}`,')
  return [
    `const response = await fetch(${JSON.stringify(url)}, {`,
    `  method: '${method}',`,
    ...(headers.length > 0 ? ['  headers: {', ...headers, '  },'] : []),
    ...(body === undefined ? [] : [`  body: JSON.stringify(${indented(JSON.stringify(body, null, 2))}),`]),
    '})',
    'console.log(response.status, await response.text())',
  ].join('\n')
}

function python(request: SampleRequest): string {
  const { method, url, hasKey, body } = request
  const headers = Object.entries(headersOf(request)).map(
    ([name, value]) => `        ${JSON.stringify(name)}: ${JSON.stringify(value)},`,
  )
  if (hasKey) headers.unshift('        "Authorization": "Bearer " + os.environ["API_KEY"],')
  const imports = [body !== undefined && 'json', hasKey && 'os', 'urllib.request'].filter(Boolean)
  return [
    `import ${imports.join(', ')}`,
    '',
    'request = urllib.request.Request(',
    `    ${JSON.stringify(url)},`,
    `    method="${method}",`,
    ...(headers.length > 0 ? ['    headers={', ...headers, '    },'] : []),
    ...(body === undefined
      ? []
      : [`    data=json.dumps(${indented(pythonLiteral(body, ''), '    ')}).encode(),`]),
    ')',
    'with urllib.request.urlopen(request) as response:',
    '    print(response.status, response.read().decode())',
  ].join('\n')
}

const indented = (text: string, by = '  ') => text.replaceAll('\n', `\n${by}`)

/** JSON is Python, but for its words. */
function pythonLiteral(value: unknown, indent: string): string {
  if (value === null) return 'None'
  if (typeof value === 'boolean') return value ? 'True' : 'False'
  if (typeof value !== 'object') return JSON.stringify(value)
  const isList = Array.isArray(value)
  const items = isList
    ? value.map((item) => pythonLiteral(item, `${indent}    `))
    : Object.entries(value).map(
        ([name, item]) => `${JSON.stringify(name)}: ${pythonLiteral(item, `${indent}    `)}`,
      )
  const [opening, closing] = isList ? ['[', ']'] : ['{', '}']
  if (items.length === 0) return opening + closing
  return `${opening}\n${items.map((item) => `${indent}    ${item},\n`).join('')}${indent}${closing}`
}
