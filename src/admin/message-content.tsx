import type { MediaDescription, Message, TemplateVariable } from '../core/message.ts'

/** As it is kept: the sandbox has a registered template's text as well, and what was erased has nothing left. */
type KeptMessage = Message | { type: 'template'; template: { text?: string } } | null

/** What a message says, all but the bytes of its media. */
export function MessageContent({ message }: { message: KeptMessage }) {
  switch (message?.type) {
    case 'text':
      return <p class="words">{message.text.value}</p>
    case 'template':
      return <Template {...message.template} />
    case 'media':
      return <Media {...message.media} />
    default:
      return <p class="muted">What it said is no longer kept.</p>
  }
}

interface TemplateProps {
  name?: string
  variables?: TemplateVariable[]
  text?: string
}

function Template({ name, variables = [], text }: TemplateProps) {
  return (
    <>
      {text !== undefined && <p class="words">{text}</p>}
      <p class="muted">Template {name}</p>
      {text === undefined && variables.length > 0 && (
        <dl class="facts">
          {variables.map(({ key, value }) => (
            <>
              <dt>{key}</dt>
              <dd class="words">{value}</dd>
            </>
          ))}
        </dl>
      )}
    </>
  )
}

function Media({ mediaType, filename, caption, mediaUrl, sizeBytes }: MediaDescription) {
  return (
    <>
      {caption !== undefined && <p class="words">{caption}</p>}
      <p class="muted">
        {[mediaType, filename, sizeBytes !== undefined && sizeInWords(sizeBytes)].filter(Boolean).join(' · ')}
      </p>
      {mediaUrl !== undefined && <p class="muted wrap">By link: {mediaUrl}</p>}
    </>
  )
}

export function sizeInWords(bytes: number): string {
  if (bytes < 1000) return `${bytes} bytes`
  return bytes < 1_000_000 ? `${Math.round(bytes / 1000)} kB` : `${(bytes / 1_000_000).toFixed(1)} MB`
}
