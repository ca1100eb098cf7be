interface Tab {
  language: string
  /** Its block. */
  html: string
}

/** Samples of the same in several languages, one shown at a time. It needs no script: docs.js remembers the choice. */
export const sampleTabs = (name: string, tabs: readonly Tab[]): string => {
  const choices = tabs.map(({ language }, index) => {
    const id = `${name}-${language.toLowerCase()}`
    return `<input class="unseen" type="radio" name="${name}" id="${id}" value="${language}"${index === 0 ? ' checked' : ''}><label for="${id}">${language}</label>`
  })
  const panels = tabs.map(
    ({ language, html }) => `<div class="panel" data-language="${language}">${html}</div>`,
  )
  return `<fieldset class="samples"><legend class="unseen">Language of the sample</legend>${choices.join('')}${panels.join('')}</fieldset>\n`
}
