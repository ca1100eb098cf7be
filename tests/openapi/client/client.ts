import createClient from 'openapi-fetch'
import type { paths } from './api.ts'

/** A program of a client of the API, against types that tests/openapi/client.test.ts generates from the document. */
export function clientOf(baseUrl: string, apiKey: string, channelId: string) {
  const client = createClient<paths>({ baseUrl, headers: { Authorization: `Bearer ${apiKey}` } })
  const contact = { value: '+4915112345678' }
  const params = { path: { channelId } }
  const onChannel = '/v1/channels/{channelId}/messages'
  return {
    text: () =>
      client.POST('/v1/messages', {
        body: { channelId, contact, message: { type: 'text', text: { value: 'Hello' } } },
      }),
    template: () =>
      client.POST(onChannel, {
        params: { ...params, header: { 'Idempotency-Key': 'welcome-ann' } },
        body: {
          contact: { value: 'ann@example.com', type: 'email', name: null },
          message: { type: 'template', template: { name: 'welcome', variables: [{ key: 'a', value: 'b' }] } },
        },
      }),
    media: () =>
      client.POST(onChannel, {
        params,
        body: {
          contact,
          message: { type: 'media', media: { mediaType: 'document', filename: 'abc.txt', base64: 'QUJD' } },
          closeConversation: true,
        },
      }),
    refused: () =>
      client.POST('/v1/messages', {
        body: { channelId: 'absent', contact, message: { type: 'text', text: { value: 'Hello' } } },
      }),

    /** Two texts, one of them for later, all or none. */
    batch: () =>
      client.POST('/v1/messages/batch', {
        params: { header: { 'Idempotency-Key': 'two-texts' } },
        body: {
          messages: [
            { channelId, contact, message: { type: 'text', text: { value: 'Now' } }, reference: 'two' },
            {
              channelId,
              contact,
              message: { type: 'text', text: { value: 'Later' } },
              reference: 'two',
              sendAt: new Date(Date.now() + 3_600_000).toISOString(),
            },
          ],
        },
      }),
    /** The state of the send after it. */
    async cancel(requestId: string) {
      const { data, error } = await client.POST('/v1/messages/{requestId}/cancel', {
        params: { path: { requestId } },
      })
      return data?.status ?? error?.statusCode
    },
    /** The sends of a reference, page by page, with a field that each has. */
    async pages(reference: string) {
      const sends: { requestId: string; sendAt: string | null }[] = []
      let after: string | undefined
      do {
        const { data } = await client.GET('/v1/messages', {
          params: { query: { reference, limit: 1, ...(after !== undefined && { after }) } },
        })
        sends.push(...(data?.messages ?? []))
        after = data?.next ?? undefined
      } while (after !== undefined)
      return sends
    },

    /** The outcomes of the attempts of a send; each event has a type of its own. */
    async outcomesOf(requestId: string) {
      const { data } = await client.GET('/v1/messages/{requestId}', { params: { path: { requestId } } })
      const isOver: boolean = data?.finishedAt !== null
      const outcomes = data?.events.flatMap((event) =>
        event.event === 'attempt_finished' ? [event.outcome] : [],
      )
      return { isOver, outcomes }
    },

    /** Never called: tsc has to refuse each of these. */
    mistakes: () => [
      client.POST(onChannel, {
        params,
        // @ts-expect-error a mistyped field
        body: { contact, message: { type: 'text', text: { value: 'a' } }, closeConversaton: true },
      }),
      client.POST(onChannel, {
        params,
        // @ts-expect-error the channel is in the path
        body: { channelId, contact, message: { type: 'text', text: { value: 'a' } } },
      }),
      // @ts-expect-error no channel
      client.POST('/v1/messages', { body: { contact, message: { type: 'text', text: { value: 'a' } } } }),
      // @ts-expect-error no text
      client.POST(onChannel, { params, body: { contact, message: { type: 'text' } } }),
      client.POST(onChannel, {
        params,
        body: {
          contact,
          // @ts-expect-error the content of another type
          message: { type: 'text', text: { value: 'a' }, template: { name: 'a' } },
        },
      }),
      client.POST(onChannel, {
        params,
        body: {
          contact,
          message: {
            type: 'media',
            // @ts-expect-error neither base64 nor mediaUrl
            media: { mediaType: 'image' },
          },
        },
      }),
      // @ts-expect-error no such state
      client.GET('/v1/messages', { params: { query: { status: 'delivered' } } }),
      client.POST('/v1/messages/batch', {
        // @ts-expect-error no channel
        body: { messages: [{ contact, message: { type: 'text', text: { value: 'a' } } }] },
      }),
      // @ts-expect-error no such route
      client.POST('/v1/message', {}),
    ],
  }
}
