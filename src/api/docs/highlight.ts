import { createCssVariablesTheme, createHighlighterCoreSync } from 'shiki/core'
import { createJavaScriptRegexEngine } from 'shiki/engine/javascript'
import bash from 'shiki/langs/bash.mjs'
import javascript from 'shiki/langs/javascript.mjs'
import json from 'shiki/langs/json.mjs'
import python from 'shiki/langs/python.mjs'
import typescript from 'shiki/langs/typescript.mjs'
import { escaped } from './escaped.ts'

/** The languages of samples, by the name in Markdown. */
const grammars: Record<string, string> = {
  sh: 'bash',
  js: 'javascript',
  ts: 'typescript',
  py: 'python',
  json: 'json',
}

/** The HTML of a sample. */
export type Highlight = (code: string, language: string | undefined) => string

const prefix = '--code-'

/** Creates the function that marks the words of a sample by classes: the pages allow no style within their HTML. */
export function createHighlight(): Highlight {
  const theme = createCssVariablesTheme({ name: 'classes', variablePrefix: prefix })
  const highlighter = createHighlighterCoreSync({
    themes: [theme],
    langs: [bash, javascript, json, python, typescript],
    engine: createJavaScriptRegexEngine(),
  })
  return (code, language = '') => {
    const lang = grammars[language]
    if (lang === undefined) return escaped(code)
    return (
      highlighter
        // Without a limit: on a busy machine, what is left of a line would have no marks.
        .codeToTokensBase(code, { lang, theme: 'classes', tokenizeTimeLimit: 0 })
        .map((line) => line.map(({ content, color = '' }) => marked(content, color)).join(''))
        .join('\n')
    )
  }
}

function marked(content: string, color: string): string {
  const kind = color.split(prefix)[1]?.match(/^token-([\w-]+)/)?.[1]
  return kind === undefined ? escaped(content) : `<span class="${kind}">${escaped(content)}</span>`
}
