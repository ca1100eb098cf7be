import type { MediaDescription, Message, TemplateVariable } from '../core/message.ts'

/** A stored message. The sandbox also stores a registered template's text; an erased message is empty. */
type KeptMessage = Message | { type: 'template'; template: TemplateProps } | null

const isErased = (message: NonNullable<KeptMessage>) =>
  (message.type === 'text' && message.text.value === '') ||
  (message.type === 'template' && !message.template.name) ||
  (message.type === 'media' && message.media.sizeBytes === undefined && message.media.mediaUrl === undefined)

/** A message's content, without the bytes of its media. */
export function MessageContent({ message }: { message: KeptMessage }) {
  if (message === null || isErased(message)) return <p class="muted">The content is no longer kept.</p>
  switch (message.type) {
    case 'text':
      return <p class="words">{message.text.value}</p>
    case 'template':
      return <Template {...message.template} />
    case 'media':
      return <Media {...message.media} />
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

function sizeInWords(bytes: number): string {
  if (bytes < 1000) return `${bytes} bytes`
  return bytes < 1_000_000 ? `${Math.round(bytes / 1000)} kB` : `${(bytes / 1_000_000).toFixed(1)} MB`
}
