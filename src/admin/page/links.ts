import type { Target } from '../../../db/look-up/targets.ts'

const pageOf: Record<Target['kind'], (id: string) => string> = {
  send: (id) => `/support/${id}`,
  channel: (id) => `/channels/${id}`,
  endpoint: (id) => `/endpoints/${id}`,
  flow: (id) => `/sends?flowId=${id}`,
  conversation: (id) => `/contact?conversationId=${id}`,
  suppression: (id) => `/contact?suppressionId=${id}`,
  account: (id) => `/sends?accountId=${id}`,
  contactOfSend: (id) => `/contact?requestId=${id}`,
  contactOfSuppression: (id) => `/contact?suppressionId=${id}`,
}

/** The page of what has this id. A contact is named by an id of its send, since addresses are recorded. */
export const linkTo = ({ kind, id }: Pick<Target, 'kind' | 'id'>): string => pageOf[kind](id)
