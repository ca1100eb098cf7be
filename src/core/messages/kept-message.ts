import { z } from 'zod'
import { mediaTypes } from './message.ts'

const text = z.string().optional()

const texts = z.record(z.string(), z.string()).optional()
/** The fields of a mail. */
const mail = {
  email: z
    .object({
      ...{ subject: text, html: text, fromName: text, replyTo: text, headers: texts, tags: texts },
      attachments: z
        .array(
          z.object({
            ...{ filename: z.string(), mimetype: text, url: text, contentId: text },
            sizeBytes: z.number().optional(),
          }),
        )
        .optional(),
    })
    .optional(),
}

const schema = z.discriminatedUnion('type', [
  z.object({ type: z.literal('text'), text: z.object({ value: z.string() }), ...mail }),
  z.object({
    type: z.literal('template'),
    ...mail,
    template: z.object({
      name: text,
      variables: z.array(z.object({ key: z.string(), value: z.string() })).optional(),
      /** The sandbox fills a registered template. */
      text,
    }),
  }),
  z.object({
    type: z.literal('media'),
    ...mail,
    media: z.object({
      mediaType: z.enum(mediaTypes),
      filename: text,
      caption: text,
      mediaUrl: text,
      sizeBytes: z.number().optional(),
    }),
  }),
])

/** A stored message as far as people read it. One that was erased is empty. */
export type KeptMessage = z.output<typeof schema>

/** Undefined if it isn't what this release stores: it is damaged, or a newer release wrote it. */
export const readKeptMessage = (stored: unknown): KeptMessage | undefined => schema.safeParse(stored).data
