import type { MessageType } from '../../../core/messages/message.ts'
import type { AttachedFile } from './facts.ts'
import { type Facts, type Format, formats, headersOf, isFromClient, sources, valueFor } from './holes.ts'
import { itemsOf, type ListName, sourcesOfItem } from './items.ts'

/**
 * A tree of JSON with typed holes. A hole is filled with a value, never with text that is read again: so nothing in a message can end
 * a text, add a field or add a line.
 *
 * - `{$: SOURCE, as?: FORMAT, optional?: true}`: a value. Without one, an optional hole is left out with its key.
 * - `{$case: SOURCE, of: {VALUE: TREE, …}}`: the tree for the value.
 * - `{$with: SOURCE, then: TREE}`: the tree, if there is a value; else it is left out.
 * - `{$text: [TEXT or hole, …]}`: one text.
 * - `{$json: TREE}`: the tree as a text of JSON.
 * - `{$each: LIST, then: TREE}`: a list with the tree for each item; left out with its key if there is none.
 * - `{$file: SOURCE}`: the bytes of a file, named by the source, within `$each` of multipart.
 * - `{$headers: map, more?: TREE}` or `{$headers: [NAME, VALUE]}`: the headers of a mail, as an object, or as a list of objects with these keys.
 */
export type Tree = null | boolean | number | string | readonly Tree[] | { readonly [key: string]: Tree }

export type Node =
  | { kind: 'literal'; value: unknown }
  | { kind: 'hole'; source: string; format: Format | undefined; isOptional: boolean; path: string }
  | { kind: 'case'; source: string; of: ReadonlyMap<string, Node>; path: string }
  | { kind: 'with'; source: string; node: Node }
  | { kind: 'text'; parts: readonly Node[] }
  | { kind: 'json'; node: Node }
  | { kind: 'each'; list: ListName; node: Node }
  | { kind: 'file'; source: string; path: string }
  | { kind: 'headers'; keys: readonly string[] | undefined; more: ObjectNode | undefined }
  | { kind: 'list'; items: readonly Node[] }
  | ObjectNode

interface ObjectNode {
  kind: 'object'
  entries: readonly (readonly [string, Node])[]
}

/** A hole that a message can't fill. The checks of a file find it before a channel uses the file: `message` is for its author. */
export class UnfilledHole extends Error {
  /** For the client of the message, who knows no holes. */
  readonly reason: string

  constructor(message: string, reason: string) {
    super(message)
    this.reason = reason
  }
}

export const omitted = Symbol('omitted')

/** The rules of one tree: its place in the file, and which sources it may have. */
export interface TreeRules {
  /** Why a source can't stand in this tree; undefined if it can. */
  sourceIssue(source: string): string | undefined
  issue(path: string, message: string): void
  /** Whether lists of items can stand in this tree, and whether the bytes of files can. */
  takes: { lists: boolean; files: boolean }
}

/** The bytes of a file, in a body of multipart. */
export class FilePart {
  readonly filename: string
  readonly contentType: string
  readonly content: Buffer

  constructor(filename: string, { contentType }: Pick<AttachedFile, 'contentType'>, content: Buffer) {
    this.filename = filename
    this.contentType = contentType
    this.content = content
  }
}

/** Reads the holes of a tree. Faults are reported, and count as empty texts. */
export function compileTree(tree: Tree, path: string, rules: TreeRules): Node {
  if (Array.isArray(tree)) {
    return { kind: 'list', items: tree.map((item, index) => compileTree(item, `${path}/${index}`, rules)) }
  }
  if (typeof tree !== 'object' || tree === null) return { kind: 'literal', value: tree }
  const fields = tree as { readonly [key: string]: Tree }
  const special = Object.keys(fields).find((key) => key.startsWith('$'))
  if (special !== undefined) return compileHole(special, fields, path, rules)
  const entries = Object.entries(fields).map(
    ([key, node]) => [key, compileTree(node, `${path}/${key}`, rules)] as const,
  )
  return { kind: 'object', entries }
}

const empty: Node = { kind: 'literal', value: '' }

/** The further keys of each kind of hole. */
const keysOf: Record<string, readonly string[]> = {
  $: ['as', 'optional'],
  $case: ['of'],
  $with: ['then'],
  $text: [],
  $json: [],
  $each: ['then'],
  $file: [],
  $headers: ['more'],
}

function compileHole(
  kind: string,
  fields: { readonly [key: string]: Tree },
  path: string,
  rules: TreeRules,
): Node {
  const fault = (message: string): Node => {
    rules.issue(path, message)
    return empty
  }
  const known = keysOf[kind]
  if (!known) return fault(`${kind} is no hole: use one of ${Object.keys(keysOf).join(', ')}`)
  const unknown = Object.keys(fields).find((key) => key !== kind && !known.includes(key))
  if (unknown !== undefined) return fault(`leave ${unknown} out beside ${kind}`)
  const { [kind]: given = null } = fields
  if (kind === '$text') {
    if (!Array.isArray(given)) return fault('$text has to be a list of texts and holes')
    return {
      kind: 'text',
      parts: given.map((part, index) => compileTree(part, `${path}/$text/${index}`, rules)),
    }
  }
  if (kind === '$headers') {
    const isPair = Array.isArray(given) && given.length === 2 && given.every((key) => typeof key === 'string')
    if (given !== 'map' && !isPair) return fault('$headers has to be map, or the two keys of each header')
    const more = fields.more === undefined ? undefined : compileTree(fields.more, `${path}/more`, rules)
    if (more && (isPair || more.kind !== 'object'))
      return fault('more has to be an object of names and values, beside map')
    return { kind: 'headers', keys: isPair ? (given as string[]) : undefined, more }
  }
  if (kind === '$each') return compileEach(given, fields.then ?? null, path, rules)
  if (kind === '$json') return { kind: 'json', node: compileTree(given, `${path}/$json`, rules) }
  const source = String(given)
  const sourceIssue = rules.sourceIssue(source)
  if (sourceIssue) return fault(sourceIssue)
  if (kind === '$file') {
    if (!rules.takes.files) return fault('$file can stand only in multipart')
    return { kind: 'file', source, path }
  }
  if (kind === '$with')
    return { kind: 'with', source, node: compileTree(fields.then ?? null, `${path}/then`, rules) }
  if (kind === '$case') {
    const cases = Object.entries(Object(fields.of)) as [string, Tree][]
    if (cases.length === 0) return fault('give the trees of $case under of, by their values')
    return {
      kind: 'case',
      source,
      of: new Map(cases.map(([value, node]) => [value, compileTree(node, `${path}/of/${value}`, rules)])),
      path,
    }
  }
  const { as, optional = false } = fields
  if (as !== undefined && !Object.hasOwn(formats, String(as)))
    return fault(`as: has to be one of ${Object.keys(formats).join(', ')}`)
  if (typeof optional !== 'boolean') return fault('optional: has to be true or false')
  return { kind: 'hole', source, format: as as Format | undefined, isOptional: optional, path }
}

/** A tree for each item, which may have the sources of the item. */
function compileEach(list: Tree, then: Tree, path: string, rules: TreeRules): Node {
  const name = String(list)
  const lists = Object.keys(itemsOf)
  if (!rules.takes.lists || !lists.includes(name)) {
    rules.issue(
      path,
      rules.takes.lists ? `$each has to be one of ${lists.join(', ')}` : 'no list can stand in a header',
    )
    return empty
  }
  const own = sourcesOfItem(name as ListName)
  const sourceIssue = (source: string) =>
    own.includes(source) && (source !== 'file.base64' || !rules.sourceIssue('media.base64'))
      ? undefined
      : rules.sourceIssue(source === 'file.base64' ? 'media.base64' : source)
  return {
    kind: 'each',
    list: name as ListName,
    node: compileTree(then, `${path}/then`, { ...rules, sourceIssue }),
  }
}

/** Fills a tree. @returns `omitted` if it is left out. */
export function fill(node: Node, facts: Facts): unknown {
  switch (node.kind) {
    case 'literal':
      return node.value
    case 'hole': {
      const value = valueFor(node.source, facts)
      if (value !== undefined) return node.format ? formats[node.format](value) : value
      if (node.isOptional) return omitted
      throw new UnfilledHole(
        `${node.path}: this message has no ${node.source}: make the hole optional, or use $case`,
        node.source === 'text'
          ? 'the text of the message is empty'
          : `this channel can't send a message without ${node.source}`,
      )
    }
    case 'case': {
      const value = String(valueFor(node.source, facts) ?? '')
      const chosen = node.of.get(value)
      if (chosen) return fill(chosen, facts)
      throw new UnfilledHole(
        `${node.path}: has no tree for ${node.source} ${value || '(none)'}`,
        `this channel can't send a message with this ${node.source}`,
      )
    }
    case 'with':
      return valueFor(node.source, facts) === undefined ? omitted : fill(node.node, facts)
    case 'text':
      return node.parts
        .map((part) => fill(part, facts))
        .filter((part) => part !== omitted)
        .join('')
    case 'json':
      return JSON.stringify(fill(node.node, facts))
    case 'each': {
      const items = itemsOf[node.list](facts)
      const filled = items.map((item) => fill(node.node, { ...facts, item }))
      return filled.length === 0 ? omitted : filled
    }
    case 'file': {
      const file = facts.item && 'file' in facts.item ? facts.item.file : undefined
      const name = valueFor(node.source, facts)
      if (file?.content && name !== undefined) return new FilePart(String(name), file, file.content)
      throw new UnfilledHole(
        `${node.path}: this message has no such file`,
        'the content of a file is missing',
      )
    }
    case 'headers': {
      const headers = headersOf(facts)
      const [name = '', value = ''] = node.keys ?? []
      if (node.keys) return Object.entries(headers).map(([key, text]) => ({ [name]: key, [value]: text }))
      const more = node.more ? (fill(node.more, facts) as Record<string, unknown>) : {}
      const isSet = new Set(Object.keys(more).map((key) => key.toLowerCase()))
      const others = Object.entries(headers).filter(([key]) => !isSet.has(key.toLowerCase()))
      return { ...Object.fromEntries(others), ...more }
    }
    case 'list':
      return node.items.map((item) => fill(item, facts)).filter((item) => item !== omitted)
    case 'object':
      return fillObject(node, facts)
    default:
      return node satisfies never
  }
}

/** Without a list of its fields in between: each send fills several. */
function fillObject({ entries }: ObjectNode, facts: Facts): Record<string, unknown> {
  const filled: Record<string, unknown> = {}
  for (const [key, item] of entries) {
    const value = fill(item, facts)
    if (value !== omitted) filled[key] = value
  }
  return filled
}

/** Whether no message of this type can fill the tree without a text. */
export function needsText(node: Node, type: MessageType): boolean {
  if (node.kind === 'hole') return node.source === 'text' && !node.isOptional
  if (node.kind === 'with' || node.kind === 'each') return false
  const isNeededIn = (child: Node) => needsText(child, type)
  if (node.kind !== 'case') return childrenOf(node).some(isNeededIn)
  const trees = node.source === 'message.type' ? [node.of.get(type) ?? empty] : childrenOf(node)
  return trees.every(isNeededIn)
}

/** The trees within a tree. */
function childrenOf(node: Node): readonly Node[] {
  switch (node.kind) {
    case 'literal':
    case 'hole':
    case 'file':
      return []
    case 'case':
      return [...node.of.values()]
    case 'with':
    case 'json':
    case 'each':
      return [node.node]
    case 'text':
      return node.parts
    case 'headers':
      return node.more ? [node.more] : []
    case 'list':
      return node.items
    case 'object':
      return node.entries.map(([, item]) => item)
    default:
      return node satisfies never
  }
}

/** Every source that a tree reads. */
export function sourcesIn(node: Node): string[] {
  const own =
    node.kind === 'headers'
      ? ['headers']
      : node.kind === 'file'
        ? ['file.content', node.source]
        : 'source' in node
          ? [node.source]
          : []
  return [...own, ...childrenOf(node).flatMap(sourcesIn)]
}

/** The names, in small letters, of the headers of mails that a tree sets. */
export function mailHeadersIn(node: Node): string[] {
  const own =
    node.kind === 'headers' && node.more ? node.more.entries.map(([name]) => name.toLowerCase()) : []
  return [...own, ...childrenOf(node).flatMap(mailHeadersIn)]
}

export { isFromClient, sources }
