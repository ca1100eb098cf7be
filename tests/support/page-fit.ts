import type { Page } from 'playwright-core'

/** What is wrong with the page as it is open, in the browser's words; nothing where all text can be read. */
export async function fitFaults(page: Page): Promise<string[]> {
  return await page.evaluate(measure)
}

/** Runs in the page: it is text, since the tests have no types of a browser. */
const measure = `(() => {
  const faults = []
  const root = document.documentElement
  if (root.scrollWidth > innerWidth) faults.push('the page is ' + (root.scrollWidth - innerWidth) + ' px too wide')
  const isShown = (element) => element.checkVisibility({ opacityProperty: true, visibilityProperty: true })
  const isApart = (element) => element.closest('.unseen, .skip, option, datalist, [hidden]') !== null
  const wordsOf = (text) => text.trim().replace(/\\s+/g, ' ').slice(0, 60)

  for (const element of document.body.querySelectorAll('*')) {
    if (!isShown(element) || isApart(element) || /^(input|select|textarea|svg|img)$/i.test(element.tagName)) continue
    const { overflowX, display } = getComputedStyle(element)
    if (display === 'inline') continue
    if (overflowX !== 'visible' && element.scrollWidth > element.clientWidth + 1 && wordsOf(element.textContent) !== '')
      faults.push('cut: ' + wordsOf(element.textContent))
  }

  const texts = []
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT)
  for (let node = walker.nextNode(); node; node = walker.nextNode()) {
    const parent = node.parentElement
    if (wordsOf(node.data) === '' || !isShown(parent) || isApart(parent)) continue
    const range = document.createRange()
    range.selectNodeContents(node)
    const box = parent.closest('td, th, section, .panel, main, header')?.getBoundingClientRect()
    const rows = new Set([...range.getClientRects()].map(({ top }) => Math.round(top)))
    if (/^[\\d.,]+$/.test(node.data.trim()) && rows.size > 1) faults.push('in pieces: ' + wordsOf(node.data))
    for (const rect of range.getClientRects()) {
      if (rect.width === 0 || rect.left < 0 && rect.right < 0) continue
      if (box && (rect.right > box.right + 1 || rect.left < box.left - 1)) faults.push('leaves its place: ' + wordsOf(node.data))
      texts.push({ rect, words: wordsOf(node.data) })
    }
  }
  texts.sort((a, b) => a.rect.top - b.rect.top)
  for (const [place, one] of texts.entries()) {
    for (let next = place + 1; next < texts.length && texts[next].rect.top < one.rect.bottom - 3; next++) {
      const other = texts[next]
      const wide = Math.min(one.rect.right, other.rect.right) - Math.max(one.rect.left, other.rect.left)
      const high = Math.min(one.rect.bottom, other.rect.bottom) - Math.max(one.rect.top, other.rect.top)
      if (wide > 2 && high > 4) faults.push('overlap: ' + one.words + ' / ' + other.words)
    }
  }
  return [...new Set(faults)]
})()`
