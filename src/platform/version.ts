import { existsSync, readFileSync } from 'node:fs'

/** package.json as seen from the sources, from the build, and from the build of the benchmark, each one folder deeper. */
const places = ['../..', '../../..', '../../../..'].map(
  (path) => new URL(`${path}/package.json`, import.meta.url),
)

/** The service's version. */
export const version = readVersion()

function readVersion(): string {
  const place = places.find((one) => existsSync(one))
  if (!place) throw new Error('package.json is missing: install the whole project')
  return JSON.parse(readFileSync(place, 'utf8')).version
}
