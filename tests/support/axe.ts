import axe from 'axe-core'
import type { Page } from 'playwright-core'

/** What axe finds on the page, each fault with the first element that has it. */
export async function axeFaults(page: Page): Promise<string[]> {
  await page.evaluate(axe.source)
  const found: { id: string; nodes: { html: string }[] }[] = await page.evaluate(
    'axe.run(document, { resultTypes: ["violations"] }).then(({ violations }) => violations)',
  )
  return found.map(({ id, nodes }) => `${id} ${nodes.length}: ${nodes[0]?.html.slice(0, 200)}`)
}
