import { readFileSync } from 'node:fs'

const shared = readFileSync(new URL('./pages.css', import.meta.url), 'utf8')

/** The style sheet of some pages: what all pages share, then their own. */
export const styleSheet = (own: URL): string => `${shared}\n${readFileSync(own, 'utf8')}`
