import { readFileSync } from 'node:fs'
import { Marked, type Token, type Tokens } from 'marked'
import { basePlaceholder } from './base-url.ts'
import { type Guide, type GuideName, guideNames, type Section } from './guide.ts'

/** The address in the guides' source: that of `npm run dev`, so that they can be pasted from there, too. */
const writtenAddress = 'http://127.0.0.1:3000'

const languages: Record<string, string> = {
  sh: 'curl',
  js: 'JavaScript',
  ts: 'TypeScript',
  py: 'Python',
  json: 'JSON',
}
/** Samples of one task, of which a reader wants one. */
const alternatives = ['sh', 'js', 'py']

/** The guides of docs/client as HTML, made at build, or from source when they are first read. */
export function renderGuides(): Guide[] {
  return guideNames.map((name) => {
    const source = readFileSync(new URL(`../../../docs/client/${name}.md`, import.meta.url), 'utf8')
    return renderGuide(
      name,
      source.replaceAll(writtenAddress, basePlaceholder).replaceAll(/<!-- [\w ]+ -->\n+/g, ''),
    )
  })
}

function renderGuide(name: GuideName, source: string): Guide {
  const marked = new Marked({
    renderer: { heading, link, table: numberedTable(), code: ({ text, lang }) => block(text, lang) },
  })
  const tokens = marked.lexer(source)
  const sections = sectionsOf(tokens)
  return { name, title: sections[0]?.heading ?? name, html: marked.parser(grouped(tokens)), sections }
}

/** As GitHub names the anchor of a heading. */
const slug = (heading: string) =>
  heading
    .toLowerCase()
    .replace(/[^\p{L}\p{N}_ -]/gu, '')
    .replaceAll(' ', '-')

interface Parser {
  parser: { parseInline(tokens: Token[]): string }
}

function heading(this: Parser, { tokens, depth, text }: Tokens.Heading): string {
  return `<h${depth} id="${slug(text)}">${this.parser.parseInline(tokens)}</h${depth}>\n`
}

/** `errors.md#503` of the source is the page `errors#503`. */
function link(this: Parser, { href, tokens }: Tokens.Link): string {
  return `<a href="${escaped(href.replace(/^([\w-]+)\.md\b/, '$1'))}">${this.parser.parseInline(tokens)}</a>`
}

/** The parts of a page that scroll need different names. */
function numberedTable() {
  let count = 0
  return function table(this: Parser, { header, rows }: Tokens.Table): string {
    const row = (cells: Tokens.TableCell[], tag: string) =>
      `<tr>${cells.map(({ tokens }) => `<${tag}>${this.parser.parseInline(tokens)}</${tag}>`).join('')}</tr>`
    return `<section class="scroll" tabindex="0" aria-label="Table ${++count}"><table><thead>${row(header, 'th')}</thead><tbody>${rows.map((cells) => row(cells, 'td')).join('')}</tbody></table></section>\n`
  }
}

const block = (text: string, lang: string | undefined) =>
  `<pre tabindex="0"><code${lang ? ` class="language-${lang}"` : ''}>${escaped(text)}</code></pre>\n`

/** Samples of the same in several languages become one group, which shows the first and opens the others. */
function grouped(tokens: Token[]): Token[] {
  const shown = tokens.filter(({ type }) => type !== 'space')
  return shown.flatMap((token, index) => {
    const isSample = (other: Token | undefined) =>
      other?.type === 'code' && alternatives.includes((other as Tokens.Code).lang ?? '')
    if (!isSample(token) || !(isSample(shown[index - 1]) || isSample(shown[index + 1]))) return [token]
    const { text, lang = '' } = token as Tokens.Code
    const open = isSample(shown[index - 1]) ? '' : ' open'
    const html = `<details class="sample"${open}><summary>${languages[lang]}</summary>${block(text, lang)}</details>\n`
    return [{ type: 'html', raw: html, text: html, block: true, pre: false } satisfies Tokens.HTML]
  })
}

function sectionsOf(tokens: Token[]): Section[] {
  const sections: Section[] = []
  for (const token of tokens) {
    if (token.type === 'heading') {
      const { text } = token as Tokens.Heading
      sections.push({ id: slug(text), heading: text.replaceAll('`', ''), text: '' })
    } else {
      const last = sections.at(-1)
      if (last) last.text += ` ${plain(token.raw)}`
    }
  }
  return sections
}

/** The text that a reader sees of Markdown, on one line. */
const plain = (markdown: string) =>
  markdown
    .replaceAll(/```\w*|^\|[-|]+$/gm, '')
    .replaceAll(/\[([^\]]*)\]\([^)]*\)/g, '$1')
    .replaceAll(/[`*|]/g, '')
    .replaceAll(/\s+/g, ' ')
    .trim()

const escaped = (text: string) =>
  text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;').replaceAll('"', '&quot;')
