import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'

const whole = /^(?:export )?(?:async )?function (\w+)[\s\S]*?^}$/gm
const returnsFunction = /^ {2}return (?:async )?(?:\([^()]*(?:\([^()]*\)[^()]*)*\)|\w+)(?:: [^=]+)? =>/m

/** The functions of a text that return a function. */
const factoriesIn = (text: string): string[] =>
  [...text.matchAll(whole)].flatMap(([code, name = '']) => (returnsFunction.test(code) ? [name] : []))

const factories = ['src', 'workers', 'db'].flatMap((folder) =>
  readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter((path) => /\.tsx?$/.test(path))
    .flatMap((path) => factoriesIn(readFileSync(join(folder, path), 'utf8'))),
)

test('a function that returns a step is named for the step, not like an agent', () => {
  expect(factories).toEqual(expect.arrayContaining(['createClaim', 'createNoteRefused', 'createFallback']))
  expect(factories.filter((name) => /^(?!create).*(?:er|or)$/.test(name))).toEqual([])
})

test.each(['export function faller(runtime: Runtime): FallBack {\n  return async (a, { b }) => b\n}'])(
  'one with an agent’s name would be found: %j',
  (text) => {
    expect(factoriesIn(text)).toEqual(['faller'])
  },
)
