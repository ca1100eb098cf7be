import { maxCanceled } from '../../../db/sends/cancel-sets.ts'
import { cancelRequest, moveRequest } from '../../core/requests/change-requests.ts'
import { exampleBodies, exampleIds, exampleTimeline } from './examples.ts'
import { inputSchema, type JsonSchema, ref } from './json-schema.ts'
import { inPath, type Operation, type PathSettings } from './operation.ts'
import { refusalsOfCancel, refusalsOfCancelMany, refusalsOfMove } from './refusals.ts'
import { answer, refused } from './responses.ts'

const requestId = { type: 'string', format: 'uuid' }
const count = (description: string) => ({ type: 'integer', minimum: 0, description })

/** The schemas of cancels and moves, by name. */
export function changeSchemas(): Record<string, JsonSchema> {
  return {
    CanceledSend: {
      type: 'object',
      properties: {
        requestId: { ...requestId, description: 'The id of the send.' },
        status: {
          type: 'string',
          enum: ['canceled', 'uncertain'],
          description:
            '`uncertain` if an earlier attempt may have got through. In both cases nothing more is sent.',
        },
      },
      required: ['requestId', 'status'],
    },
    CancelRequest: {
      ...inputSchema(cancelRequest),
      description: 'Either `reference` or `flowId`.',
    },
    CanceledSends: {
      type: 'object',
      properties: {
        requestId: { ...requestId, description: 'The id of this request.' },
        canceled: count('How many are canceled.'),
        uncertain: count(
          'How many are `uncertain`, because an earlier attempt may have got through. Nothing more is sent.',
        ),
        tooLate: count('How many were being sent at that moment. They go on.'),
        next: {
          type: ['string', 'null'],
          description: 'The value of `after` to go on with. Null if none was left.',
        },
      },
      required: ['requestId', 'canceled', 'uncertain', 'tooLate', 'next'],
    },
    MoveRequest: inputSchema(moveRequest),
  }
}

export const cancel = (settings: PathSettings): Operation => ({
  operationId: 'cancelMessage',
  tags: ['Messages'],
  summary: 'Cancel a send that waits',
  description:
    'A scheduled send, or one that is `queued`. After a 200, its provider is not called any more. A repeat gets the same answer, unless the send is `uncertain`.',
  security: [{ apiKey: ['messages:send'] }],
  parameters: [inPath('requestId', "The `requestId` of the send's 202.", exampleIds.requestId)],
  responses: {
    200: answer('Nothing more is sent.', 'CanceledSend', {
      requestId: exampleIds.requestId,
      status: 'canceled',
    }),
    ...refused(refusalsOfCancel(settings)),
  },
})

export function cancelMany(settings: PathSettings): Operation {
  const { reference } = exampleBodies.later.value
  const { requestId, flowId } = exampleIds
  return {
    operationId: 'cancelMessages',
    tags: ['Messages'],
    summary: 'Cancel all that waits with a reference, or in a flow',
    description: `At most ${maxCanceled.toLocaleString('en-US')} sends, the oldest first: go on until \`next\` is null. Each is canceled as by a request of its own. After a 200, their providers are not called any more. A repeat finds nothing more to cancel.`,
    security: [{ apiKey: ['messages:send'] }],
    requestBody: {
      required: true,
      content: {
        'application/json': {
          schema: ref('CancelRequest'),
          examples: {
            reference: { summary: 'With a reference', value: { reference } },
            flow: { summary: 'In a flow', value: { flowId } },
          },
        },
      },
    },
    responses: {
      200: answer('Nothing more of them is sent.', 'CanceledSends', {
        requestId,
        canceled: 4711,
        uncertain: 0,
        tooLate: 2,
        next: null,
      }),
      ...refused(refusalsOfCancelMany(settings)),
    },
  }
}

export function move(settings: PathSettings): Operation {
  const { sendAt, reference } = exampleBodies.later.value
  const { events: _, ...summary } = exampleTimeline
  const moved = {
    ...summary,
    status: 'queued',
    conversationId: null,
    finishedAt: null,
    attempts: 0,
    providerMessageId: null,
    sendAt: new Date(sendAt).toISOString(),
    reference,
  }
  return {
    operationId: 'moveMessage',
    tags: ['Messages'],
    summary: 'Move a scheduled send to another time',
    description:
      "Before its time has come. Its place in its contact's order and its expiry count from the new time. The timeline has the event `scheduled` again.",
    security: [{ apiKey: ['messages:send'] }],
    parameters: [inPath('requestId', "The `requestId` of the send's 202.", exampleIds.requestId)],
    requestBody: {
      required: true,
      content: {
        'application/json': {
          schema: ref('MoveRequest'),
          examples: { later: { summary: 'Another time', value: { sendAt } } },
        },
      },
    },
    responses: {
      200: answer('It waits for the new time.', 'SendSummary', moved),
      ...refused(refusalsOfMove(settings)),
    },
  }
}
