import { readFileSync } from 'node:fs'
import type { Variables } from './environment.ts'

/** Settings that are secrets, or hold one. Each may come from a file, which its name with `_FILE` names. */
export const secretSettings = [
  'DATABASE_URL',
  'REDIS_URL',
  'CREDENTIALS_KEY',
  'CREDENTIALS_KEY_PREVIOUS',
  'API_KEY_PEPPER',
  'ADMIN_PASSWORD',
] as const

/** Whether the setting has a value, or a file. */
export const isGiven = (name: string, variables: Variables): boolean =>
  Boolean(variables[name] || variables[`${name}_FILE`])

/**
 * Reads the secrets that come from files.
 *
 * @param names the settings that the process needs: other files aren't opened.
 */
export function withSecretFiles(
  names: readonly string[],
  variables: Variables,
): { set: Variables; issues: string[]; unread: string[] } {
  const set = { ...variables }
  const issues: string[] = []
  const unread: string[] = []
  for (const name of secretSettings) {
    const path = variables[`${name}_FILE`]
    if (!path || !names.includes(name)) continue
    const read = variables[name] ? { issue: `is set, and ${name} too; unset one of them` } : contentOf(path)
    if ('content' in read) set[name] = read.content
    else {
      issues.push(`${name}_FILE ${read.issue}`)
      unread.push(name)
    }
  }
  return { set, issues, unread }
}

function contentOf(path: string): { content: string } | { issue: string } {
  try {
    const content = readFileSync(path, 'utf8').replace(/\r?\n$/, '')
    return content === '' ? { issue: `names ${path}, which is empty; write the secret into it` } : { content }
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    return { issue: `names ${path}, which can't be read (${code}); check that it is there and readable` }
  }
}
