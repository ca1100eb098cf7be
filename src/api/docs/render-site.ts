import { once } from '../../platform/memory/once.ts'
import { openApiDocument } from '../openapi/document.ts'
import { basePlaceholder } from './base-url.ts'
import type { BuiltSite } from './built-site.ts'
import { escaped } from './escaped.ts'
import { createHighlight } from './highlight.ts'
import { docsPages } from './pages.tsx'
import { renderGuides } from './render-guides.ts'

/** The defaults. Samples that depend on other settings are shown without marks. */
const settings = {
  MAX_BODY_BYTES: 26_214_400,
  PUBLIC_BASE_URL: basePlaceholder,
  RATE_LIMIT_POINTS: 600,
  RATE_LIMIT_WINDOW_SECONDS: 60,
}

/** Renders the guides, and marks the words of each sample of the reference. It takes seconds, so a process does it once. */
export const renderSite = once((): BuiltSite => {
  const highlight = createHighlight()
  const guides = renderGuides(highlight)
  const samples: Record<string, string> = {}
  const { operations, operation, landing } = docsPages(
    openApiDocument(settings),
    guides,
    (code, language) => {
      samples[code] ??= highlight(code, language)
      return escaped(code)
    },
  )
  landing('/docs')
  for (const { slug } of operations) operation(slug)
  return { guides, samples }
})
