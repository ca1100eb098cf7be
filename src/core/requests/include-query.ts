import { createReadQuery, oneOf } from './query.ts'

/** The parameter of `GET /v1/messages/:requestId`. */
export const includeParameters = {
  include: {
    schema: oneOf(['message'] as const),
    what: '`message`: with what was sent. The key needs the permission `messages:content`.',
  },
}

const read = createReadQuery(includeParameters)

/** Other parameters are ignored: earlier releases took any. */
export const readIncludeQuery: typeof read = (query) =>
  read(new URLSearchParams(query.getAll('include').map((value): [string, string] => ['include', value])))
