import { existsSync, readFileSync } from 'node:fs'
import type { Guide } from './guide.ts'

/** Where `npm run build` puts the rendered guides, beside the build of this file. */
export const builtGuides = 'guides.json'

/** The rendered guides: of the build, or from source rendered now. Only then the package that renders them is loaded. */
export async function loadGuides(): Promise<Guide[]> {
  const file = new URL(builtGuides, import.meta.url)
  if (existsSync(file)) return JSON.parse(readFileSync(file, 'utf8'))
  const { renderGuides } = await import('./render-guides.ts')
  return renderGuides()
}
