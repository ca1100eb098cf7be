import type { KeptMessage } from '../../core/messages/kept-message.ts'
import { NotShown } from './each-shown.tsx'
import { MailContent } from './mail-content.tsx'

const isErased = (message: KeptMessage) =>
  (message.type === 'text' && message.text.value === '') ||
  (message.type === 'template' && !message.template.name) ||
  (message.type === 'media' && message.media.sizeBytes === undefined && message.media.mediaUrl === undefined)

interface MessageContentProps {
  /** Undefined if it can't be read. */
  message: KeptMessage | undefined
  /** The address of the HTML of its mail. */
  htmlAddress: string
  /** The address of each file that came with a mail; absent if they can't be downloaded here. */
  fileAddress?: (index: number) => string
}

/** A message's content, without the bytes of its media. */
export function MessageContent({ message, ...addresses }: MessageContentProps) {
  if (!message) return <NotShown what="content" />
  if (isErased(message)) return <p class="muted">The content is no longer kept.</p>
  return (
    <>
      <Content message={message} />
      {message.email && <MailContent mail={message.email} {...addresses} />}
    </>
  )
}

function Content({ message }: { message: KeptMessage }) {
  switch (message.type) {
    case 'text':
      return <p class="words">{message.text.value}</p>
    case 'template':
      return <Template {...message.template} />
    case 'media':
      return <Media {...message.media} />
  }
}

type TemplateMessage = Extract<KeptMessage, { type: 'template' }>['template']

function Template({ name, variables = [], text }: TemplateMessage) {
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

type MediaMessage = Extract<KeptMessage, { type: 'media' }>['media']

function Media({ mediaType, filename, caption, mediaUrl, sizeBytes }: MediaMessage) {
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
