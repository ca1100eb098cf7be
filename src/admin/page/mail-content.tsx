import type { KeptMessage } from '../../core/messages/kept-message.ts'

type KeptMail = NonNullable<KeptMessage['email']>

interface MailContentProps {
  mail: KeptMail
  /** The address of the HTML alone (html-of-mail.ts). */
  htmlAddress: string
}

function describe({
  filename,
  mimetype,
  contentId,
  sizeBytes,
  url,
}: NonNullable<KeptMail['attachments']>[number]): string {
  const size = sizeBytes === undefined ? undefined : `${sizeBytes.toLocaleString('en-US')} bytes`
  const parts = [filename, mimetype, contentId && `shown as cid:${contentId}`, size, url && `by link: ${url}`]
  return parts.filter(Boolean).join(' · ')
}

/** What came with a mail: its fields, and its HTML as it looks in a frame that can load nothing, with its source beside it. */
export function MailContent({ mail, htmlAddress }: MailContentProps) {
  const { subject, html, fromName, replyTo, headers = {}, tags = {}, attachments = [] } = mail
  const fields: [string, string | undefined][] = [
    ['Subject', subject],
    ["Sender's name", fromName],
    ['Reply-To', replyTo],
    ...Object.entries(headers),
    ...Object.entries(tags).map(([name, value]): [string, string] => [`Tag ${name}`, value]),
    ...attachments.map((file): [string, string] => ['Attachment', describe(file)]),
  ]
  return (
    <>
      <dl class="facts">
        {fields
          .filter(([, value]) => value !== undefined)
          .map(([name, value]) => (
            <>
              <dt>{name}</dt>
              <dd class="words">{value}</dd>
            </>
          ))}
      </dl>
      {html !== undefined && (
        <>
          <iframe class="mail" src={htmlAddress} sandbox="" title="The mail as HTML" loading="lazy" />
          <details>
            <summary>Source of the HTML</summary>
            <iframe
              class="mail"
              src={`${htmlAddress}?as=source`}
              sandbox=""
              title="The source of the HTML"
              loading="lazy"
            />
          </details>
        </>
      )}
    </>
  )
}
