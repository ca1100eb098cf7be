import { z } from 'zod'
import { encodings } from '../../core/messages/segments.ts'
import { sentMailFields } from '../../core/messages/sent-message.ts'
import { dryRunParameters, readDryRun } from '../../core/requests/dry-run-query.ts'
import { fallbackCauses } from '../../core/sends/fallback.ts'
import { waitNames } from '../../sends/dry-run.ts'
import { wrongDryRun } from '../send/dry-run.ts'
import { exampleIds } from './examples.ts'
import type { Refusals } from './route.ts'
import { count, named, ofRequest, text, time, uuid } from './schemas.ts'

const wait = named(
  'Wait',
  z
    .object({
      reason: z.enum(Object.keys(waitNames)).describe(
        `What it waits for: ${Object.entries(waitNames)
          .map(([name, forWhat]) => `\`${name}\`, ${forWhat}`)
          .join('; ')}.`,
      ),
      until: time('When that ends. Null if no time ends it.').nullable(),
    })
    .describe('A reason to wait.'),
)

const fallback = named(
  'DryRunFallback',
  z
    .object({
      channelId: uuid('The channel by which it would go on.'),
      on: z.array(z.enum(fallbackCauses)).describe('After what.'),
      withinSeconds: count('How long after its accept.'),
      issue: text('Why that channel could not send it. Null if it could.').nullable(),
    })
    .describe('A channel by which it would go on if it is not delivered.'),
)

const what = 'What would become of the message. Nothing is recorded, and nothing is sent.'

const foreseen = named(
  'DryRun',
  z
    .object({
      requestId: uuid('An id of this answer. It is no send.'),
      wouldSend: z
        .boolean()
        .describe('Whether it would be sent, as far as is known: now, or once what it waits for has ended.'),
      reason: text('Why it would not be sent, as its timeline would have it. Null if it would.').nullable(),
      dueAt: time(
        'The earliest time at which its provider may be called, by what is known now. Null if it would not be sent.',
      ).nullable(),
      waitsFor: z.array(wait).describe('What it would wait for, the strongest reason first.'),
      channelId: uuid(
        'The channel that would send it: a fallback if the contact is suppressed on its own alone.',
      ),
      fallbacks: z
        .array(fallback)
        .describe('The channels by which it would go on after that one, in their order.'),
      suppressed: z.boolean().describe('Whether the contact is suppressed on the channel of the request.'),
      segments: count('How many segments it takes as SMS. Null if it is none.').nullable(),
      encoding: z.enum(encodings).nullable().describe('Its encoding as SMS. Null if it is none.'),
      email: z
        .object(sentMailFields)
        .nullable()
        .describe('The `email` of the request, without bytes. Null if it has none.'),
    })
    .describe(what),
)

const example = {
  requestId: exampleIds.requestId,
  ...{ wouldSend: true, reason: null, dueAt: '2026-11-22T07:00:00.000Z' },
  waitsFor: [{ reason: 'quiet_hours', until: '2026-11-22T07:00:00.000Z' }],
  ...{ channelId: exampleIds.channelId, fallbacks: [], suppressed: false },
  ...{ segments: 1, encoding: 'gsm-7', email: null },
}

/** What the routes that send have for dry runs. */
export const dryRun = {
  query: { parameters: dryRunParameters },
  ofOne: {
    what: `With \`dryRun=true\`: ${what.replace(/^W/, 'w')}`,
    schema: foreseen,
    example,
  },
  ofBatch: {
    what: 'With `dryRun=true`: what would become of the messages, in their order. Nothing is recorded, and nothing is sent.',
    schema: named(
      'DryRunBatch',
      z
        .object({
          ...ofRequest,
          messages: z.array(foreseen).describe('In the order of the messages.'),
        })
        .describe('What would become of the messages of a batch.'),
    ),
    example: { requestId: exampleIds.flowId, messages: [example] },
  },
  refusals: {
    wrongDryRun: {
      summary: 'The parameter dryRun has another form',
      error() {
        const read = readDryRun('?dryRun=yes')
        if (!('issue' in read)) throw new Error('The example of a faulty dryRun has no issue')
        return wrongDryRun(read.issue)
      },
    },
  } satisfies Refusals,
}
