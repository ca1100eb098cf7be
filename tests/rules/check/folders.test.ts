import { readdirSync } from 'node:fs'
import { expect, test } from 'vitest'

/** More are a list to read through, beside folders that say what is where. */
const mostBesideFolders = 8

const crowdedIn = (folder: string): string[] => {
  const entries = readdirSync(folder, { withFileTypes: true })
  const folders = entries.filter((entry) => entry.isDirectory())
  const files = entries.filter(({ name }) => /\.tsx?$/.test(name))
  const within = folders.flatMap(({ name }) => crowdedIn(`${folder}/${name}`))
  return folders.length > 0 && files.length > mostBesideFolders ? [folder, ...within] : within
}

test('a folder of the product that has folders has few files beside them', () => {
  expect(['src', 'db', 'workers'].flatMap(crowdedIn)).toEqual([])
})
