import { readFileSync } from 'node:fs'

/** The cells of each row of the page's table that has this head, such as `| Field | What |`. */
export function rowsOf(page: string, head: string): string[][] {
  const [, table = ''] = readFileSync(page, 'utf8').split(`\n${head}\n${head.replaceAll(/[^|]+/g, '---')}\n`)
  const rows = table.split('\n\n', 1)[0]?.split('\n') ?? []
  return rows.map((row) =>
    row
      .split('|')
      .slice(1, -1)
      .map((cell) => cell.trim()),
  )
}

/** The names in backticks. */
export const namesIn = (text = ''): string[] => [...text.matchAll(/`(\w+)`/g)].map(([, name = '']) => name)
