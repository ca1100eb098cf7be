import { existsSync, readFileSync } from 'node:fs'
import type { BuiltSite } from './built-site.ts'
import { escaped } from './escaped.ts'
import type { Highlight } from './highlight.ts'

/** The file that `npm run build` puts beside the build of this one. */
export const builtSite = 'site.json'

/** The site of the build; from source it is made now. Only then the packages that render it are loaded. */
export async function loadSite(): Promise<BuiltSite> {
  const file = new URL(builtSite, import.meta.url)
  if (existsSync(file)) return JSON.parse(readFileSync(file, 'utf8'))
  const { renderSite } = await import('./render-site.ts')
  return renderSite()
}

/** A sample that depends on a setting has other words than at build: it is shown without marks. */
export const highlightOf =
  ({ samples }: BuiltSite): Highlight =>
  (code) =>
    samples[code] ?? escaped(code)
