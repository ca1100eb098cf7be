/** The body of `GET /`: the paths of the API, for a person who opens its address. */
export const index = {
  service: 'Outbound Messaging API',
  docs: '/docs',
  openapi: '/openapi.json',
  health: '/healthz',
  readiness: '/readyz',
  send: ['POST /v1/messages', 'POST /v1/channels/{channelId}/messages', 'POST /v1/messages/batch'],
  cancel: 'POST /v1/messages/{requestId}/cancel',
  cancelMany: 'POST /v1/messages/cancel',
  move: 'PATCH /v1/messages/{requestId}',
  read: 'GET /v1/messages/{requestId}',
  list: 'GET /v1/messages',
  channels: 'GET /v1/channels',
  flows: 'GET /v1/flows',
  endpoints: 'GET /v1/endpoints',
  suppressions: 'GET /v1/suppressions',
} as const
