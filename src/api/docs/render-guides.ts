import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { Marked, type Token, type Tokens } from 'marked'
import { basePlaceholder } from './base-url.ts'
import { escaped } from './escaped.ts'
import { type Guide, type GuideName, guideNames, type Section } from './guide.ts'
import type { Highlight } from './highlight.ts'
import { sampleTabs } from './sample-tabs.ts'

/** The address in the guides' source: that of `npm run dev`, so that they can be pasted from there, too. */
const writtenAddress = 'http://127.0.0.1:3000'

const languages: Record<string, string> = { sh: 'curl', js: 'JavaScript', py: 'Python' }

/** The guides of docs/client as HTML, made at build, or from source when they are first read. */
export function renderGuides(highlight: Highlight): Guide[] {
  return guideNames.map((name) => {
    const file = fileURLToPath(new URL(`../../../docs/client/${name}.md`, import.meta.url))
    const source = readFileSync(file, 'utf8')
      .replaceAll(writtenAddress, basePlaceholder)
      .replaceAll(/<!-- [\w ]+ -->\n+/g, '')
    return { ...renderGuide(name, source, highlight), ...dateOf(file) }
  })
}

function dateOf(file: string): { changedOn?: string } {
  try {
    const log = ['log', '-1', '--format=%cs', '--', file]
    const changedOn = execFileSync('git', log, { encoding: 'utf8', stdio: 'pipe' }).trim()
    return changedOn === '' ? {} : { changedOn }
  } catch {
    return {}
  }
}

function renderGuide(name: GuideName, source: string, highlight: Highlight): Guide {
  const blockOf = ({ text, lang }: Tokens.Code) =>
    `<pre tabindex="0"><code>${highlight(text, lang)}</code></pre>`
  const marked = new Marked({
    renderer: { heading, link, table: numberedTable(), code: (token) => `${blockOf(token)}\n` },
  })
  const tokens = marked.lexer(source)
  const sections = sectionsOf(tokens)
  return {
    name,
    title: sections[0]?.heading ?? name,
    about: aboutOf(tokens),
    html: marked.parser(grouped(tokens, blockOf)),
    markdown: source.replaceAll(/\]\(([\w-]+)\.md\b/g, `](${basePlaceholder}/docs/$1.md`),
    sections,
  }
}

/** The first sentence of the first paragraph. */
function aboutOf(tokens: Token[]): string {
  const text = plain(tokens.find(({ type }) => type === 'paragraph')?.raw ?? '')
  return /^.*?[.:](?= |$)/.exec(text)?.[0].replace(/:$/, '.') ?? text
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

const isSample = (token: Token): token is Tokens.Code =>
  token.type === 'code' && ((token as Tokens.Code).lang ?? '') in languages

/** Samples of the same in several languages, of which a reader wants one, become one group. */
function grouped(tokens: Token[], blockOf: (token: Tokens.Code) => string): Token[] {
  const groups: Token[] = []
  let samples: Tokens.Code[] = []
  const close = () => {
    if (samples.length > 1) groups.push(htmlOf(tabsOf(samples, groups.length, blockOf)))
    else groups.push(...samples)
    samples = []
  }
  for (const token of tokens.filter(({ type }) => type !== 'space')) {
    if (isSample(token)) samples.push(token)
    else {
      close()
      groups.push(token)
    }
  }
  close()
  return groups
}

const tabsOf = (samples: Tokens.Code[], place: number, blockOf: (token: Tokens.Code) => string) =>
  sampleTabs(
    `samples-${place}`,
    samples.map((token) => ({ language: languages[token.lang ?? ''] ?? '', html: blockOf(token) })),
  )

const htmlOf = (html: string): Tokens.HTML => ({
  type: 'html',
  raw: html,
  text: html,
  block: true,
  pre: false,
})

function sectionsOf(tokens: Token[]): Section[] {
  const sections: Section[] = []
  for (const token of tokens) {
    if (token.type === 'heading') {
      const { text, depth } = token as Tokens.Heading
      sections.push({ id: slug(text), heading: text.replaceAll('`', ''), depth, text: '' })
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
    .replaceAll(/```\w*|^\|[-|]+$|^\s*(?:-|\d+\.) /gm, '')
    .replaceAll(/\[([^\]]*)\]\([^)]*\)/g, '$1')
    .replaceAll(/[`*|]/g, '')
    .replaceAll(/\s+/g, ' ')
    .trim()
