import { type Timeline, timelineFields } from '../../core/sends/timeline.ts'

/** Ids in the right form, which belong to nothing. */
export const exampleIds = {
  requestId: '01a1fde3-04b0-709e-bec0-b940cc7af3c0',
  firstRequestId: '01a1fde1-9c3e-7b42-8d15-6f0a2e9c4b71',
  channelId: '01a1fde0-fa4b-754d-8e02-ab49c67ccb75',
  flowId: '01a1fde0-fa52-7fd1-93c5-6a1b4f3f4a10',
  conversationId: '01a1fdea-d386-71d7-a7a4-302b03a57a7f',
  providerMessageId: '01a1fdea-db92-759c-a34b-ad9e9fab225a',
}

/** A picture of one pixel. */
const dot = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=='

/** As the document is served: a time of yesterday would be refused. */
const tomorrow = new Date(Date.now() + 86_400_000).toISOString().slice(0, 10)

/** Bodies that are accepted, for the endpoint with the channel in the path. */
export const exampleBodies = {
  text: {
    summary: 'A text',
    value: {
      contact: { value: '+49 151 12345678', name: 'Ann Example' },
      message: { type: 'text', text: { value: 'Hello Ann' } },
    },
  },
  mail: {
    summary: 'A mail with HTML, a subject of its own and an address for answers',
    value: {
      contact: { value: 'ann@example.com', type: 'email' },
      message: { type: 'text', text: { value: 'Your order is on its way.' } },
      email: {
        subject: 'Your order 4711',
        html: '<p>Your order is <b>on its way</b>. <img src="cid:dot" alt=""></p>',
        fromName: 'Acme Orders',
        replyTo: 'orders@example.com',
        headers: { 'X-Order': '4711' },
        tags: { kind: 'shipping' },
        attachments: [{ filename: 'dot.png', mimetype: 'image/png', contentId: 'dot', base64: dot }],
      },
    },
  },
  template: {
    summary: 'A template, to an e-mail address',
    value: {
      contact: { value: 'ann@example.com', type: 'email' },
      message: {
        type: 'template',
        template: { name: 'welcome', variables: [{ key: 'name', value: 'Ann' }] },
      },
    },
  },
  mediaByUrl: {
    summary: 'A media, by its URL',
    value: {
      contact: { value: '+4915112345678' },
      message: {
        type: 'media',
        media: {
          mediaType: 'document',
          mimetype: 'application/pdf',
          filename: 'invoice.pdf',
          caption: 'Your invoice',
          mediaUrl: 'https://example.com/invoices/4711.pdf',
        },
      },
    },
  },
  mediaByBase64: {
    summary: "A media in base64, which first closes the contact's open conversation",
    value: {
      contact: { value: '+4915112345678' },
      message: {
        type: 'media',
        media: { mediaType: 'image', filename: 'dot.png', caption: 'A dot', base64: dot },
      },
      closeConversation: true,
    },
  },
  later: {
    summary: 'A text for later, with an id of your own',
    value: {
      contact: { value: '+4915112345678' },
      message: { type: 'text', text: { value: 'Your appointment is tomorrow at 9.' } },
      sendAt: `${tomorrow}T09:00:00+01:00`,
      reference: 'appointment-4711',
    },
  },
  inFlow: {
    summary: 'A text that belongs to a flow',
    value: {
      contact: { value: '+4915112345678' },
      message: { type: 'text', text: { value: 'Your order is on its way.' } },
      flowId: exampleIds.flowId,
    },
  },
}

export const exampleReceipt = {
  requestId: exampleIds.requestId,
  status: 'undelivered',
  at: '2026-11-21T11:43:12.000Z',
  code: 'unknown_number',
  reason: 'The number is no longer in use.',
}

/** Every field as null; an example gives the others. */
const noFields = Object.fromEntries(Object.keys(timelineFields).map((name) => [name, null])) as {
  [Name in keyof Timeline]: null extends Timeline[Name] ? null : never
}

export const exampleTimeline = {
  ...noFields,
  requestId: exampleIds.requestId,
  status: 'sent',
  channelId: exampleIds.channelId,
  contact: { type: 'phone', value: '+15550100104' },
  messageType: 'text',
  conversationId: exampleIds.conversationId,
  acceptedAt: '2026-11-21T11:43:07.640Z',
  finishedAt: '2026-11-21T11:43:09.716Z',
  attempts: 2,
  providerMessageId: exampleIds.providerMessageId,
  priority: 'normal',
  reference: 'order-4711',
  events: [
    { at: '2026-11-21T11:43:07.640Z', event: 'accepted' },
    { at: '2026-11-21T11:43:07.654Z', event: 'conversation_closed', conversationId: null },
    { at: '2026-11-21T11:43:07.654Z', event: 'attempt_started', attempt: 1, worker: 'worker-3e91b02c77e4' },
    {
      at: '2026-11-21T11:43:07.659Z',
      event: 'attempt_finished',
      attempt: 1,
      outcome: 'retry_later',
      durationMs: 1,
      providerStatus: 429,
      providerCode: null,
      providerMessageId: null,
      reason: 'the sandbox accepts no more messages now',
    },
    {
      at: '2026-11-21T11:43:07.659Z',
      event: 'retry_scheduled',
      reason: 'the sandbox accepts no more messages now',
      nextAttemptAt: '2026-11-21T11:43:09.659Z',
    },
    { at: '2026-11-21T11:43:09.713Z', event: 'attempt_started', attempt: 2, worker: 'worker-3e91b02c77e4' },
    {
      at: '2026-11-21T11:43:09.716Z',
      event: 'attempt_finished',
      attempt: 2,
      outcome: 'sent',
      durationMs: 1,
      providerStatus: 200,
      providerCode: null,
      providerMessageId: exampleIds.providerMessageId,
    },
    { at: '2026-11-21T11:43:09.716Z', event: 'sent' },
  ],
} satisfies Timeline
