import pg from 'pg'
import { expect, test } from 'vitest'
import { connectionString, databaseUrlIssue } from '../../../db/connection/connection-string.ts'

test.each([
  ['postgres://u:p@h:5432/a%2Fb', 'a/b'],
  ['postgresql://u@h/a%3ab?sslmode=require', 'a:b'],
  ['postgres://h/a%40b%26c%3Dd%2Be%24f%2Cg%3Bh', 'a@b&c=d+e$f,g;h'],
  ['postgres://h/a%252Fb', 'a%2Fb'],
  ['postgres://u@/a%2Fb?host=/socket', 'a/b'],
  ['postgres://h/plain', 'plain'],
])('the name of the database in %s is %s, as libpq reads it', (url, database) => {
  expect(new pg.Client({ connectionString: connectionString(url) }).database).toBe(database)
})

test.each(['postgres://h/a%3Fb', 'postgres://h/a%23b?sslmode=require'])(
  'the database of %s is refused, since node-postgres would look for another name',
  (url) => {
    expect(databaseUrlIssue(url)).toBe(
      'names a database with ? or #, which node-postgres cannot read; rename it',
    )
  },
)

test('a ? that begins the parameters is no part of the name', () => {
  expect(databaseUrlIssue('postgres://h/a?application_name=b%23c')).toBeUndefined()
})
