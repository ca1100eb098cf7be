import { z } from 'zod'
import { textForm } from './parts.ts'

const cost = z
  .strictObject({
    amount: z.string().nullable().default(null),
    currency: z.string().nullable().default(null),
    parts: z.int().nullable().default(null),
  })
  .optional()

const answer = z.strictObject({
  status: z.number().int().min(200).max(599),
  headers: z.record(z.string(), z.string()).optional(),
  body: z.json().optional().describe('JSON, or a text as it is.'),
})

const sendExample = z.strictObject({
  title: textForm,
  config: z.record(z.string(), z.json()).optional().describe('Over `config` of the examples.'),
  contact: z.strictObject({ value: z.string(), name: z.string().optional() }).optional(),
  message: z.json().describe('A message as the API takes it.'),
  template: z.json().optional().describe('The registration of a template.'),
  request: z
    .strictObject({
      path: z.string().optional(),
      headers: z.record(z.string(), z.string()).optional(),
      json: z.json().optional(),
      form: z.record(z.string(), z.union([z.string(), z.array(z.string())])).optional(),
    })
    .optional()
    .describe('The exact request.'),
  answer: answer.optional(),
  outcome: z
    .strictObject({
      outcome: z.enum(['sent', 'rejected', 'retry_later', 'channel_refused', 'uncertain']),
      fault: z.enum(['provider', 'recipient', 'message', 'sender']).optional(),
      id: z.string().optional(),
      code: z.string().optional(),
      cost,
    })
    .optional(),
})

const receiptExample = z.strictObject({
  title: textForm,
  config: z.record(z.string(), z.json()).optional(),
  headers: z.record(z.string(), z.string()).optional(),
  query: z.record(z.string(), z.string()).optional(),
  body: z.json().optional().describe('JSON, a text as it is, or the fields of a form.'),
  proven: z.boolean().optional().describe('Whether its proof is right. Default: not checked.'),
  atSeconds: z.number().int().optional().describe('The time of the check of its proof.'),
  receipts: z.array(
    z.strictObject({
      requestId: z.string().optional(),
      means: z.enum(['accepted', 'delivered', 'read', 'undelivered', 'complained']),
      status: z.string().optional(),
      code: z.string().optional(),
      id: z.string().optional(),
      at: z.string().optional(),
      cost,
    }),
  ),
})

export const examplesForm = z
  .strictObject({
    config: z.record(z.string(), z.json()).describe('A config of a channel, with made-up secrets.'),
    sends: z.array(sendExample).min(1),
    receipts: z.array(receiptExample).optional(),
  })
  .describe('Checked by `outbound provider check`.')

export type SendExample = z.output<typeof sendExample>
export type ReceiptExample = z.output<typeof receiptExample>
