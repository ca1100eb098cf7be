import { expect } from 'vitest'

export interface Page {
  status: number
  headers: Headers
  html: string
  /** The text that a reader sees, without the markup, white space made single. */
  text: string
}

/** Asks for a page as a browser does. */
export async function getPage(url: string, init: RequestInit = {}): Promise<Page> {
  return asPage(await fetch(url, { redirect: 'manual', ...init }))
}

/** Sends a form as a browser does from a page of the same origin. */
export async function postForm(url: string, fields: Record<string, string>): Promise<Page> {
  const body = new URLSearchParams(fields)
  return await getPage(url, { method: 'POST', headers: { Origin: new URL(url).origin }, body })
}

async function asPage(response: Response): Promise<Page> {
  const html = await response.text()
  return { status: response.status, headers: response.headers, html, text: textOf(html) }
}

const entities: Record<string, string> = { lt: '<', gt: '>', quot: '"', '#39': "'", amp: '&' }

export function textOf(html: string): string {
  return html
    .replace(/<head>.*<\/head>/s, '')
    .replace(/<[^>]*>/g, ' ')
    .replace(/&(lt|gt|quot|#39|amp);/g, (_whole, name: string) => entities[name] ?? '')
    .replace(/\s+/g, ' ')
}

const foreignTags = /^\/?(script|iframe|frame|svg|object|embed|base|style|math|template|applet)$/i

/** A chart of ours has numbers only. */
const ourChart =
  /<svg class="(?:chart|spark)" viewBox="0 0 \d+ \d+" preserveAspectRatio="none" role="img" aria-label="[^"<>]*">(?:<(rect|line|polyline)(?: class="[a-z]+")?(?: (?:x|y|x1|x2|y1|y2|width|height|points)="[\d., ]+")+(?: ?\/>|><\/\1>))*<\/svg>/g

export const ourScript = '<script src="/console.js" defer=""></script>'

/** Whatever was planted in a text is no tag, no attribute and no link in the page. */
export function expectOnlyOurMarkup(page: string): void {
  const html = page.replaceAll(ourChart, '').replace(ourScript, '')
  for (const [tag, name = '', attributes = ''] of html.matchAll(/<(\/?[a-z!][^\s>]*)([^>]*)>/gi)) {
    expect(name, tag).not.toMatch(foreignTags)
    // Each value stands between double quotes, and holds none.
    const names = attributes.replace(/="[^"]*"/g, '')
    expect(names, tag).toMatch(/^( [a-z-]+)* ?\/?$/)
    expect(names, tag).not.toMatch(/ (on|style)/)
    for (const [, , link] of attributes.matchAll(/ (href|src|action)="([^"]*)"/g))
      expect(link, tag).toMatch(/^(\/(?!\/)|#main$)/)
  }
}
