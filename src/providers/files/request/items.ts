import type { Attachment } from '../../../core/messages/mail.ts'
import type { MediaDescription } from '../../../core/messages/message.ts'
import { attachedAs } from '../../shared/mail/attachment-name.ts'
import type { AttachedFile, Facts, Item, Value } from './facts.ts'

function filesOf({ delivery }: Facts): AttachedFile[] {
  const { message, mediaContent, attachmentContents = [] } = delivery
  const fileOf = (
    described: MediaDescription & Pick<Attachment, 'contentId'>,
    content: Buffer | undefined,
  ) => {
    const { filename: name, contentType } = attachedAs(described)
    return { name, contentType, contentId: described.contentId, content }
  }
  const attachments = message.email?.attachments ?? []
  return [
    ...(message.type === 'media' ? [fileOf(message.media, mediaContent)] : []),
    ...attachments.map((attachment, index) =>
      fileOf({ mediaType: 'document', ...attachment }, attachmentContents[index]),
    ),
  ]
}

const asFiles = (files: AttachedFile[]): Item[] => files.map((file) => ({ file }))

/** What a tree may be filled for each of: the files of a mail, all or by whether its HTML shows them in their place; and its tags. */
export const itemsOf = {
  files: (facts: Facts) => asFiles(filesOf(facts)),
  'files.attached': (facts: Facts) => asFiles(filesOf(facts).filter(({ contentId }) => !contentId)),
  'files.inline': (facts: Facts) => asFiles(filesOf(facts).filter(({ contentId }) => contentId)),
  tags: ({ delivery }: Facts): Item[] =>
    Object.entries(delivery.message.email?.tags ?? {}).map(([name, value]) => ({ tag: { name, value } })),
} satisfies Record<string, (facts: Facts) => Item[]>
export type ListName = keyof typeof itemsOf

/** The sources of a tree that is filled for each item of a list, beside all others. */
const fileSources = {
  'file.name': ({ name }: AttachedFile) => name,
  'file.mimetype': ({ contentType }: AttachedFile) => contentType,
  'file.contentId': ({ contentId }: AttachedFile) => contentId,
  'file.base64': ({ content }: AttachedFile, { encode }: Facts) => content && encode(content),
} satisfies Record<string, (file: AttachedFile, facts: Facts) => Value>
const tagSources = ['tag.name', 'tag.value']

export const sourcesOfItem = (list: ListName): readonly string[] =>
  list === 'tags' ? tagSources : Object.keys(fileSources)

/** The value of such a source; undefined for any other one, and where there is none. */
export function valueOfItem(source: string, facts: Facts): Value {
  const { item } = facts
  if (!item) return undefined
  if ('tag' in item)
    return source === 'tag.name' ? item.tag.name : source === 'tag.value' ? item.tag.value : undefined
  return Object.hasOwn(fileSources, source)
    ? fileSources[source as keyof typeof fileSources](item.file, facts)
    : undefined
}
