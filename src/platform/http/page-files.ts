import { readFileSync } from 'node:fs'

const read = (name: string) => readFileSync(new URL(`./${name}`, import.meta.url))

const shared = read('pages.css').toString()

/** The style sheet of some pages: what all pages share, then their own. */
export const styleSheet = (own: URL): string => `${shared}\n${readFileSync(own, 'utf8')}`

/** The files that all pages load beside their style sheet, which names the font by its name alone. */
export const pageFiles = {
  font: { name: 'inter.woff2', type: 'font/woff2', bytes: read('inter.woff2') },
  icon: { name: 'icon.svg', type: 'image/svg+xml', bytes: read('mark.svg') },
} as const
