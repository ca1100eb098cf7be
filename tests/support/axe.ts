import axe from 'axe-core'
import type { Page } from 'playwright-core'
import { expect } from 'vitest'

/** Width of a narrow phone, which axe doesn't check. */
const narrowest = 360
const widths = [390, 768, 1280]
const height = 900

/** The page as it is open: nothing is wider than the window, and axe finds nothing, at three widths, in light and dark. */
export async function expectUsable(page: Page): Promise<void> {
  await page.evaluate(axe.source)
  await expectFit(page, narrowest)
  for (const width of widths) {
    await expectFit(page, width)
    for (const colorScheme of ['light', 'dark'] as const) {
      await page.emulateMedia({ colorScheme })
      expect(await isDark(page)).toBe(colorScheme === 'dark')
      const faults = await axeFaults(page, colorScheme === 'light' ? 'all' : 'color-contrast')
      expect(faults, `${page.url()}, ${width} px, ${colorScheme}`).toEqual([])
    }
  }
}

async function expectFit(page: Page, width: number): Promise<void> {
  await page.setViewportSize({ width, height })
  const wanted = await page.locator('html').evaluate(({ scrollWidth }) => scrollWidth)
  expect(wanted, `width of ${page.url()}`).toBe(width)
}

async function isDark(page: Page): Promise<boolean> {
  const color: string = await page.evaluate('getComputedStyle(document.body).backgroundColor')
  return Number(/\d+/.exec(color)?.[0]) < 128
}

/** The faults that axe finds, each with the first element that has it. In other colours only contrasts can differ. */
export async function axeFaults(page: Page, rules: 'all' | 'color-contrast' = 'all'): Promise<string[]> {
  const chosen = rules === 'all' ? '' : `, runOnly: ["${rules}"]`
  const found: { id: string; nodes: { html: string }[] }[] = await page.evaluate(
    `axe.run(document, { resultTypes: ["violations"]${chosen} }).then(({ violations }) => violations)`,
  )
  return found.map(({ id, nodes }) => `${id} ${nodes.length}: ${nodes[0]?.html.slice(0, 200)}`)
}
