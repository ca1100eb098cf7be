import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { writeFile } from 'node:fs/promises'
import { createInterface } from 'node:readline'

interface Line {
  text: string
  /** Since the first line. */
  atMs: number
}

const columns = 118
const rows = 30
const lineHeight = 18
const charWidth = 7.83
/** Between two lines, at most, so that nobody waits for a start. */
const longestPauseMs = 900
const restMs = 6000

/** Runs the demo, and writes what it prints as an SVG that scrolls as a terminal does. */
export async function recordDemo(file: string): Promise<void> {
  const lines: Line[] = []
  const demo = spawn('npm', ['run', '-s', 'demo'], { stdio: ['ignore', 'pipe', 'inherit'] })
  let [last, atMs] = [performance.now(), 0]
  for await (const text of createInterface({ input: demo.stdout })) {
    const now = performance.now()
    atMs += lines.length === 0 ? 0 : Math.min(now - last, longestPauseMs)
    last = now
    for (const part of wrapped(text)) lines.push({ text: part, atMs })
  }
  const [code] = demo.exitCode === null ? await once(demo, 'exit') : [demo.exitCode]
  if (code !== 0) throw new Error(`npm run demo ended with ${code}: run it alone to see why.`)
  await writeFile(file, drawn([{ text: '$ npm run demo', atMs: 0 }, ...lines]))
}

const wrapped = (text: string): string[] => {
  const parts = text.match(new RegExp(`.{1,${columns}}(?:\\s|$)|.{${columns}}`, 'g')) ?? ['']
  return parts.map((part, place) => (place === 0 ? part : `    ${part}`).trimEnd())
}

const escaped = (text: string) => text.replace(/&/g, '&amp;').replace(/</g, '&lt;').replace(/>/g, '&gt;')

function drawn(lines: readonly Line[]): string {
  const [width, height] = [Math.ceil(columns * charWidth) + 32, rows * lineHeight + 32]
  const totalMs = (lines.at(-1)?.atMs ?? 0) + restMs
  // At each time, the last lines are in view.
  const times = [...new Set(lines.map(({ atMs }) => atMs))]
  const shiftAt = (atMs: number) =>
    Math.max(0, lines.filter((line) => line.atMs <= atMs).length - rows) * lineHeight
  const keyTimes = times.map((atMs) => (atMs / totalMs).toFixed(5))
  const shifts = times.map((atMs) => `0 ${-shiftAt(atMs)}`)
  const text = lines.map(({ text, atMs }, place) => {
    const colour = place === 0 ? ' class="p"' : /^All \d+ sends/.test(text) ? ' class="g"' : ''
    const begin = (atMs / totalMs).toFixed(5)
    const show =
      atMs === 0
        ? ''
        : `<animate attributeName="opacity" values="0;1" keyTimes="0;${begin}" calcMode="discrete" dur="${totalMs}ms" repeatCount="indefinite"/>`
    return `<text${colour} x="16" y="${32 + place * lineHeight}" xml:space="preserve">${escaped(text)}${show}</text>`
  })
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" font-family="ui-monospace, Menlo, Consolas, 'DejaVu Sans Mono', monospace" font-size="13">
<title>A run of npm run demo</title>
<style>text{fill:#d7dce6}.p{fill:#a9b4ff}.g{fill:#74d69f}</style>
<rect width="${width}" height="${height}" rx="10" fill="#0e1117"/>
<svg y="8" width="${width}" height="${height - 16}"><title>The lines</title><g>
<animateTransform attributeName="transform" type="translate" values="${shifts.join(';')}" keyTimes="${keyTimes.join(';')}" calcMode="discrete" dur="${totalMs}ms" repeatCount="indefinite"/>
${text.join('\n')}
</g></svg>
</svg>
`
}
