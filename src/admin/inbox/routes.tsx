import {
  countSandboxMessages,
  findSandboxMessage,
  listSandboxMessages,
  type ReceivedMessage,
} from '../../../db/sends/sandbox-messages.ts'
import { readKeptMessage } from '../../core/messages/kept-message.ts'
import { canBeRecordId } from '../../core/requests/record-id.ts'
import { type AdminApp, type AdminRuntime, factory } from '../context.ts'
import { htmlOfMail } from '../page/html-of-mail.ts'
import { contactsSeen } from '../page/masking.ts'
import { allow } from '../people/allow.ts'
import { InboxPage, type ShownMessage } from './inbox-page.tsx'
import { inboxAttachment, inboxMedia, shownType } from './media.ts'

const pageSize = 50

/** The messages that the sandbox received (docs/reference/admin.md#inbox). */
export function inbox(runtime: AdminRuntime): AdminApp {
  const app: AdminApp = factory.createApp()
  app.get('/', allow('reader'), async (c) => {
    const query = c.req.query('before') ?? ''
    const before = canBeRecordId(query) ? query : undefined
    const [received, total] = await Promise.all([
      listSandboxMessages(runtime.db, { before, limit: pageSize + 1 }),
      countSandboxMessages(runtime.db),
    ])
    const messages = await Promise.all(received.slice(0, pageSize).map(withShownType))
    const olderThan = received.length > pageSize ? messages.at(-1)?.id : undefined
    const contacts = contactsSeen(c, runtime.settings)
    return c.html(<InboxPage {...{ messages, total, contacts, olderThan }} isFirst={before === undefined} />)
  })
  app.get('/:id/html', allow('reader'), async (c) => {
    const id = c.req.param('id')
    const message = canBeRecordId(id) ? await findSandboxMessage(runtime.db, id) : undefined
    return htmlOfMail(c, message?.email?.html)
  })
  app.get('/:id/media', allow('reader'), inboxMedia(runtime))
  app.get('/:id/attachments/:index{[0-9]}', allow('reader'), inboxAttachment(runtime))
  return app
}

async function withShownType({ mediaHead, ...row }: ReceivedMessage): Promise<ShownMessage> {
  const received = { ...row, message: readKeptMessage(row.message) }
  const { message } = received
  // The bytes are those of the attachments, where the media came by a link.
  if (message?.type !== 'media' || message.media.sizeBytes === undefined || mediaHead === null)
    return { ...received, hasFiles: mediaHead !== null }
  return {
    ...received,
    hasFiles: true,
    media: (await shownType(message.media.mediaType, mediaHead)) ?? 'download',
  }
}
