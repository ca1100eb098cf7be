import { existsSync, readFileSync } from 'node:fs'

/** Which build of the service this is, and what it runs on. */
export interface Build {
  version: string
  /** The commit of the sources; `unknown` unless `npm run build` knew it. */
  commit: string
  /** The version of Node.js. */
  node: string
}

/** package.json as seen from the sources, from the build, and from the build of the benchmark, each one folder deeper. */
const packages = ['../../..', '../../../..', '../../../../..'].map((path) => `${path}/package.json`)

/** Written by `npm run build` into the folder of the build: a Build without what it runs on. */
export const buildFile = 'build.json'

/** The build that runs. */
export const build: Build = {
  version: readFirst(packages)?.version ?? missing(),
  commit: readFirst([`../../../${buildFile}`])?.commit ?? 'unknown',
  node: process.version,
}

function readFirst(paths: readonly string[]): Partial<Build> | undefined {
  const place = paths.map((path) => new URL(path, import.meta.url)).find((one) => existsSync(one))
  return place && JSON.parse(readFileSync(place, 'utf8'))
}

function missing(): never {
  throw new Error('package.json is missing: install the whole project')
}
