import { smallBytes } from '../body/large/large-bodies.ts'
import { tooLarge } from '../body/receive.ts'
import { ApiError, unavailable } from '../errors.ts'
import type { Route } from './route.ts'

export const noSuchUnsubscribeLink = () =>
  new ApiError(
    'unsubscribe_link_not_found',
    'This address was altered or cut off: open it from the mail again.',
  )

const ofContacts = {
  path: '/unsubscribe/:token',
  tag: 'Suppressions',
  isInternal: true,
  params: { token: { what: 'The token of the mail. It never expires.' } },
} as const

const noSuchLink = { summary: 'The address was altered', error: noSuchUnsubscribeLink }

/** The address in mails by which contacts unsubscribe. */
export const unsubscribeRoutes = {
  askToUnsubscribe: {
    ...ofContacts,
    method: 'get',
    summary: 'The page with a button to unsubscribe',
    description: 'For the contact of a mail. It changes nothing, and needs no API key.',
    answer: { what: 'The page.', types: ['text/html'] },
    refusals: { noSuchLink },
  },
  unsubscribeByLink: {
    ...ofContacts,
    method: 'post',
    summary: 'Unsubscribe the contact of a mail',
    description:
      'By the button of the page, or by a mail program with one click (RFC 8058). The body is ignored. A repeat changes nothing. It needs no API key.',
    answer: { what: 'The contact is suppressed on the channel of the mail.', types: ['text/html'] },
    refusals: {
      noSuchLink,
      tooLarge: { summary: 'The body is too large', error: () => tooLarge(smallBytes) },
      unavailable: { summary: 'PostgreSQL does not answer in time', error: unavailable },
    },
  },
} as const satisfies Record<string, Route>
