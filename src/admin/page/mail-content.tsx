import type { KeptMessage } from '../../core/messages/kept-message.ts'

type KeptMail = NonNullable<KeptMessage['email']>

interface MailContentProps {
  mail: KeptMail
  /** The address of the HTML alone (html-of-mail.ts). */
  htmlAddress: string
  /** The address of each attachment that came with its bytes. */
  fileAddress?: (index: number) => string
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
export function MailContent({ mail, htmlAddress, fileAddress }: MailContentProps) {
  const { subject, html, fromName, replyTo, headers = {}, tags = {}, attachments = [] } = mail
  const fields: [string, string | undefined][] = [
    ['Subject', subject],
    ["Sender's name", fromName],
    ['Reply-To', replyTo],
    ...Object.entries(headers),
    ...Object.entries(tags).map(([name, value]): [string, string] => [`Tag ${name}`, value]),
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
        {attachments.map((file, index) => (
          <>
            <dt>Attachment</dt>
            <dd class="words">
              {fileAddress && file.sizeBytes !== undefined ? (
                <a href={fileAddress(index)} download>
                  {describe(file)}
                </a>
              ) : (
                describe(file)
              )}
            </dd>
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
