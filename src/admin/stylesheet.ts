import { readFileSync } from 'node:fs'
import type { Context } from 'hono'

const text = readFileSync(new URL('./admin.css', import.meta.url), 'utf8')

export function stylesheet(c: Context): Response {
  return c.body(text, 200, { 'Content-Type': 'text/css; charset=utf-8' })
}
