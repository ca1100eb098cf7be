import type { z } from 'zod'
import { quotedName } from './quoted-name.ts'

export const maxIssues = 10

/** Replaces zod's messages that don't tell a client what to do. Never repeats a value. */
export function describeIssue(issue: z.core.$ZodRawIssue): string | undefined {
  switch (issue.code) {
    case 'invalid_type':
      return issue.input === undefined
        ? 'required'
        : `has to be ${article(issue.expected)}${issue.input === null ? ', not null' : ''}`
    case 'invalid_value':
      return issue.input === undefined ? 'required' : `has to be one of ${issue.values.join(', ')}`
    case 'too_big':
      return `at most ${issue.maximum} ${issue.origin === 'array' ? 'items' : 'characters'}`
    default:
      return undefined
  }
}

/**
 * One line that names each faulty field by its path, e.g. `message.media: send base64 or mediaUrl`.
 *
 * @param clientsText whether to repeat what the client wrote: the names of unknown fields, and values.
 */
export function describeIssues(
  issues: readonly z.core.$ZodIssue[],
  clientsText: 'given' | 'left out' = 'given',
): string {
  const namesOf = (issue: z.core.$ZodIssue) => (issue.code === 'unrecognized_keys' ? issue.keys : [''])
  const count = issues.reduce((sum, issue) => sum + namesOf(issue).length, 0)
  // Cut before rendering, because a hostile body has millions of issues.
  const lines = issues.slice(0, maxIssues).flatMap((issue) => {
    if (issue.code !== 'unrecognized_keys')
      return clientsText === 'given'
        ? [`${fieldPath(issue.path)}: ${issue.message}`]
        : [`${fieldPath(knownPath(issue))}: ${reasonOf(issue)}`]
    return issue.keys.slice(0, maxIssues).map((key) => {
      const path = clientsText === 'given' ? [...issue.path, key] : issue.path
      return `${fieldPath(path)}: unknown field`
    })
  })
  return joinIssues(lines, count)
}

/** The message without a value of the client, where the check says one (`params.reason`). */
function reasonOf(issue: z.core.$ZodIssue): string {
  const reason: unknown = issue.code === 'custom' ? issue.params?.reason : undefined
  return typeof reason === 'string' ? reason : issue.message
}

/** The path without a name that the client chose (src/core/requests/entries.ts). */
const knownPath = ({ path, ...issue }: z.core.$ZodIssue) =>
  issue.code === 'custom' && issue.params?.isNamedByClient ? path.slice(0, -1) : path

/**
 * The first issues on one line, and the number of further ones.
 *
 * @param count the number of all issues, if `lines` doesn't contain all.
 */
export function joinIssues(lines: readonly string[], count = lines.length): string {
  const more = count > maxIssues ? [`and ${count - maxIssues} more faults`] : []
  return [...lines.slice(0, maxIssues), ...more].join('; ')
}

/** Puts the message's place in front of each field's path. */
export function withPaths(issues: string, index: number, isChannel: boolean): string {
  if (isChannel) return `messages[${index}].channelId: ${issues}`
  return issues.replaceAll(/(^|; )(?=(?:contact|message|flowId|sendAt)[.:[])/g, `$1messages[${index}].`)
}

function fieldPath(path: readonly PropertyKey[]): string {
  if (path.length === 0) return 'body'
  return path.reduce<string>((text, part) => {
    if (typeof part === 'number') return `${text}[${part}]`
    const name = quotedName(String(part))
    return text ? `${text}.${name}` : name
  }, '')
}

function article(type: string): string {
  return /^[aeiou]/.test(type) ? `an ${type}` : `a ${type}`
}
