import { isAlias, isNode, isScalar, LineCounter, parseDocument, visit } from 'yaml'
import type { z } from 'zod'
import { describeIssue, maxIssues } from '../../core/requests/issues.ts'

type Path = readonly PropertyKey[]

interface YamlForm<Schema extends z.ZodType> {
  schema: Schema
  maxBytes: number
  /** How a path is written beside its line. */
  write(path: Path): string
}

/** A file that has the right form; or what is wrong with it, each on one line that says where. */
export type ReadYaml<Data> = { data: Data; lineOf(path: Path): string } | { issues: string[] }

/** Reads YAML or JSON. Only data: neither aliases, which could grow a few lines to gigabytes, nor tags. */
export function readYaml<Schema extends z.ZodType>(
  text: string,
  { schema, maxBytes, write }: YamlForm<Schema>,
): ReadYaml<z.output<Schema>> {
  if (Buffer.byteLength(text) > maxBytes)
    return { issues: [`the file has more than ${maxBytes / 1024} KiB: shorten it`] }
  const lines = new LineCounter()
  const document = parseDocument(text, { lineCounter: lines, schema: 'core', uniqueKeys: true })
  const lineOfOffset = (offset: number) => `line ${lines.linePos(offset).line}`
  const [error] = document.errors
  if (error) return { issues: [`${lineOfOffset(error.pos[0])}: ${error.message.split('\n')[0]}`] }
  const refused: string[] = []
  visit(document, (place, node) => {
    if (!isNode(node)) return
    const at = lineOfOffset(node.range?.[0] ?? 0)
    if (isAlias(node) || ('anchor' in node && node.anchor !== undefined))
      refused.push(`${at}: write the value again, as anchors and aliases are not read`)
    else if (place === 'key' && isScalar(node) && node.value === '__proto__')
      refused.push(`${at}: leave __proto__ out: it is no name of a field`)
    else if (node.tag !== undefined) refused.push(`${at}: leave the tag out`)
  })
  if (refused.length > 0) return { issues: refused.slice(0, maxIssues) }
  const parsed = schema.safeParse(document.toJS({ maxAliasCount: 0 }), { error: describeIssue })
  if (parsed.success) return { data: parsed.data, lineOf }
  const issues = parsed.error.issues.flatMap(withKeys).slice(0, maxIssues)
  return { issues: issues.map(({ path, message }) => `${lineOf(path)}${write(path)}: ${message}`) }

  /** The line of the node at the path, or of the nearest one around it. */
  function lineOf(path: Path): string {
    for (let length = path.length; length >= 0; length--) {
      const node = document.getIn(path.slice(0, length).map(keyOf), true)
      if (isNode(node) && node.range) return lineOfOffset(node.range[0])
    }
    return 'line 1'
  }
}

/** A list is indexed by numbers. */
const keyOf = (part: PropertyKey) => (/^\d+$/.test(String(part)) ? Number(part) : String(part))

/** Each unknown key is an issue of its own, at its own line. */
const withKeys = (issue: z.core.$ZodIssue): { path: PropertyKey[]; message: string }[] =>
  issue.code === 'unrecognized_keys'
    ? issue.keys.map((key) => ({ path: [...issue.path, key], message: 'unknown field; leave it out' }))
    : [{ path: issue.path, message: issue.message }]
