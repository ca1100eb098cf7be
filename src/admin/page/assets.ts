import { readFileSync } from 'node:fs'
import type { Context } from 'hono'
import { styleSheet } from '../../platform/http/page-styles.ts'

const styles = styleSheet(new URL('./admin.css', import.meta.url))

const zone = readFileSync(new URL('./zone.js', import.meta.url), 'utf8')

const icon = `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 32 32"><path fill="#0b57c2"
d="M6 4h20a4 4 0 0 1 4 4v12a4 4 0 0 1-4 4H14l-8 6v-6a4 4 0 0 1-4-4V8a4 4 0 0 1 4-4z"/></svg>`

/** The only files that the pages load. */
export const assets = {
  styles: (c: Context) => c.body(styles, 200, { 'Content-Type': 'text/css; charset=utf-8' }),
  zone: (c: Context) => c.body(zone, 200, { 'Content-Type': 'text/javascript; charset=utf-8' }),
  icon: (c: Context) => c.body(icon, 200, { 'Content-Type': 'image/svg+xml' }),
}
