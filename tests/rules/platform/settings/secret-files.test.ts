import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { isGiven, secretSettings } from '../../../../src/platform/settings/secret-files.ts'
import { readAdminSettings, readSettings, settingNames } from '../../../../src/platform/settings/settings.ts'

const folder = mkdtempSync(join(tmpdir(), 'secret-files-'))
afterAll(() => rmSync(folder, { recursive: true }))

const secrets: Record<(typeof secretSettings)[number], string> = {
  DATABASE_URL: 'postgres://user:password@localhost:5432/outbound',
  REDIS_URL: 'redis://:password@localhost:6379',
  CREDENTIALS_KEY: Buffer.alloc(32, 1).toString('base64'),
  CREDENTIALS_KEY_PREVIOUS: Buffer.alloc(32, 2).toString('base64'),
  API_KEY_PEPPER: 'x'.repeat(32),
  ADMIN_PASSWORD: 'correct horse',
}

function file(name: string, content: string): string {
  const path = join(folder, name)
  writeFileSync(path, content)
  return path
}

const inFiles = Object.fromEntries(
  Object.entries(secrets).map(([name, value]) => [`${name}_FILE`, file(name, `${value}\n`)]),
)

test('each setting that looks like a secret may come from a file', () => {
  const secret = settingNames.filter((name) =>
    /KEY|PEPPER|PASSWORD|SECRET|TOKEN|^(DATABASE|REDIS)_URL/.test(name),
  )
  expect([...secretSettings].sort()).toEqual(secret.sort())
})

test('secrets of files are those of the environment, without the line break at their end', () => {
  expect(readSettings(undefined, inFiles)).toEqual(readSettings(undefined, secrets))
  const { CREDENTIALS_KEY_FILE: _, ...withoutKey } = inFiles
  expect(readAdminSettings(inFiles)).toEqual(readAdminSettings(secrets))
  expect(isGiven('CREDENTIALS_KEY', inFiles)).toBe(true)
  expect(isGiven('CREDENTIALS_KEY', withoutKey)).toBe(false)
})

test.each(secretSettings)(
  '%s_FILE that is missing, empty, or set beside the plain one is one issue',
  (name) => {
    const issuesOf = (variables: Record<string, string>) => {
      try {
        readAdminSettings({ ADMIN_HOST: '0.0.0.0', ...inFiles, ...variables })
      } catch (error) {
        return (error as Error).message.split('\n').slice(1)
      }
      return []
    }
    const absent = join(folder, 'absent')
    expect(issuesOf({ [`${name}_FILE`]: absent })).toEqual([
      `  ${name}_FILE names ${absent}, which can't be read (ENOENT); check that it is there and readable`,
    ])
    const empty = file('empty', '\n')
    expect(issuesOf({ [`${name}_FILE`]: empty })).toEqual([
      `  ${name}_FILE names ${empty}, which is empty; write the secret into it`,
    ])
    expect(issuesOf({ [name]: secrets[name] })).toEqual([
      `  ${name}_FILE is set, and ${name} too; unset one of them`,
    ])
  },
)

test('a file of a secret that the process does not need is not opened', () => {
  const variables = { ...secrets, API_KEY_PEPPER: '', API_KEY_PEPPER_FILE: '/absent' }
  expect(readSettings(['DATABASE_URL'], variables)).toEqual({ DATABASE_URL: secrets.DATABASE_URL })
})
