import { readFileSync } from 'node:fs'
import type { Context } from 'hono'
import { pageFiles, styleSheet } from '../../platform/http/page-files.ts'

const styles = styleSheet(new URL('./admin.css', import.meta.url))

const script = readFileSync(new URL('./console.js', import.meta.url), 'utf8')

/** Browsers keep the file: otherwise each page would first be shown in another type. */
const file =
  ({ type, bytes }: (typeof pageFiles)[keyof typeof pageFiles]) =>
  (c: Context) =>
    c.body(bytes, 200, { 'Content-Type': type, 'Cache-Control': 'max-age=86400' })

/** The only files that the pages load. */
export const assets = {
  styles: (c: Context) => c.body(styles, 200, { 'Content-Type': 'text/css; charset=utf-8' }),
  script: (c: Context) => c.body(script, 200, { 'Content-Type': 'text/javascript; charset=utf-8' }),
  icon: file(pageFiles.icon),
  font: file(pageFiles.font),
}
