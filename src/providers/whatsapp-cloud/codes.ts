import type { SuppressingCodes } from '../../core/suppression/suppression.ts'
import type { CodeTable, MeaningTable } from '../shared/code-table.ts'

/** For limits that recover over hours. */
const slowLimitMs = 15 * 60 * 1000

const noPermission = {
  outcome: 'channel_refused',
  fault: 'sender',
  meaning: "the channel's access token lacks a permission",
} as const

/** Meta's documentation says to decide by the code: https://developers.facebook.com/documentation/business-messaging/whatsapp/support/error-codes */
export const whatsAppCodes: CodeTable = {
  ...Object.fromEntries(Array.from({ length: 100 }, (_, index) => [200 + index, noPermission])),
  0: { outcome: 'channel_refused', fault: 'sender', meaning: "the channel's access token is not accepted" },
  1: { outcome: 'retry_later', fault: 'provider', meaning: 'Meta had an unknown error' },
  2: { outcome: 'retry_later', fault: 'provider', meaning: "Meta's API is down or overloaded" },
  3: noPermission,
  4: { outcome: 'retry_later', fault: 'sender', meaning: 'the app has reached its limit of calls' },
  10: noPermission,
  17: {
    outcome: 'retry_later',
    fault: 'sender',
    meaning: "the channel's user of the API has reached its limit of calls",
  },
  33: { outcome: 'channel_refused', fault: 'sender', meaning: "the channel's phone number was deleted" },
  100: {
    outcome: 'rejected',
    fault: 'message',
    meaning: 'a field of the request is wrong, or the phone number id is',
  },
  102: {
    outcome: 'channel_refused',
    fault: 'sender',
    meaning: "the channel's access token has expired or was revoked",
  },
  190: {
    outcome: 'channel_refused',
    fault: 'sender',
    meaning: "the channel's access token has expired or was revoked",
  },
  341: {
    outcome: 'retry_later',
    fault: 'sender',
    meaning: 'the app has reached its limit of calls',
  },
  368: {
    outcome: 'channel_refused',
    fault: 'sender',
    meaning: 'the account is restricted for breaking rules of WhatsApp',
  },
  80007: { outcome: 'retry_later', fault: 'sender', meaning: 'the account has reached its limit of calls' },
  130429: {
    outcome: 'retry_later',
    fault: 'sender',
    meaning: "the channel's number has reached its limit of messages a second",
  },
  130472: {
    outcome: 'rejected',
    fault: 'recipient',
    meaning: 'WhatsApp accepts no marketing messages to this contact, who is part of an experiment',
  },
  130497: {
    outcome: 'rejected',
    fault: 'recipient',
    meaning: "the account may not send to the contact's country",
  },
  131000: { outcome: 'retry_later', fault: 'provider', meaning: 'Meta had an unknown error' },
  131005: noPermission,
  131008: { outcome: 'rejected', fault: 'message', meaning: 'a required field is missing' },
  131009: {
    outcome: 'rejected',
    fault: 'message',
    meaning: 'a field has a value that WhatsApp does not accept',
  },
  131016: { outcome: 'retry_later', fault: 'provider', meaning: 'a service of Meta is overloaded or down' },
  131021: { outcome: 'rejected', fault: 'recipient', meaning: 'the contact is the sending number itself' },
  131026: {
    outcome: 'rejected',
    fault: 'recipient',
    meaning: 'the contact cannot be reached (no WhatsApp, its terms not accepted, or too old a version)',
  },
  131030: {
    outcome: 'rejected',
    fault: 'recipient',
    meaning: "the channel's number is a test number, and the contact is not on its list",
  },
  131031: { outcome: 'channel_refused', fault: 'sender', meaning: 'the account is locked' },
  131037: {
    outcome: 'channel_refused',
    fault: 'sender',
    meaning: "the display name of the channel's number is not approved yet",
  },
  131042: { outcome: 'channel_refused', fault: 'sender', meaning: 'the account has a payment problem' },
  131045: {
    outcome: 'channel_refused',
    fault: 'sender',
    meaning: "the channel's phone number is not registered correctly",
  },
  131047: {
    outcome: 'rejected',
    fault: 'recipient',
    meaning: 'the contact last wrote more than 24 hours ago, so only a template can be sent',
  },
  131048: {
    outcome: 'retry_later',
    fault: 'sender',
    wait: slowLimitMs,
    meaning: 'many contacts have blocked or reported the number',
  },
  131049: {
    outcome: 'rejected',
    fault: 'recipient',
    meaning: 'WhatsApp withholds marketing messages from this contact',
  },
  131050: {
    outcome: 'rejected',
    fault: 'recipient',
    meaning: 'the contact has opted out of marketing messages from this sender',
  },
  131051: {
    outcome: 'rejected',
    fault: 'message',
    meaning: 'WhatsApp does not support this type of message',
  },
  131053: {
    outcome: 'rejected',
    fault: 'message',
    meaning: 'WhatsApp could not process the media',
  },
  131056: {
    outcome: 'retry_later',
    fault: 'recipient',
    meaning: 'too many messages went to this contact in a short time',
  },
  131057: { outcome: 'retry_later', fault: 'sender', meaning: 'the account is under maintenance' },
  131063: {
    outcome: 'rejected',
    fault: 'message',
    meaning: 'marketing messages are disabled for the account on this API',
  },
  131064: {
    outcome: 'retry_later',
    fault: 'sender',
    wait: slowLimitMs,
    meaning: 'the account has reached its limit of messages for this kind of template',
  },
  132000: {
    outcome: 'rejected',
    fault: 'message',
    meaning: "the number of variables doesn't match the template",
  },
  132001: { outcome: 'rejected', fault: 'message', meaning: 'no such template is approved in this language' },
  132005: {
    outcome: 'rejected',
    fault: 'message',
    meaning: 'the text is too long after the variables were filled in',
  },
  132007: {
    outcome: 'rejected',
    fault: 'message',
    meaning: 'the text of the template breaks the rules of WhatsApp',
  },
  132012: {
    outcome: 'rejected',
    fault: 'message',
    meaning: "the format of a variable doesn't match the template",
  },
  // The template of the account, not what the client said: a fallback may send the message.
  132015: { outcome: 'rejected', fault: 'sender', meaning: 'the template is paused for its low quality' },
  132016: {
    outcome: 'rejected',
    fault: 'sender',
    meaning: 'the template was disabled for its low quality; only a new one can be sent',
  },
  132018: {
    outcome: 'rejected',
    fault: 'message',
    meaning: "the variables don't fit the template's rules, for example a line break or too many spaces",
  },
  132068: {
    outcome: 'rejected',
    fault: 'message',
    meaning: 'the flow in the template is blocked',
  },
  132069: {
    outcome: 'retry_later',
    fault: 'message',
    meaning: 'the flow in the template is throttled to 10 messages an hour',
  },
  133010: {
    outcome: 'channel_refused',
    fault: 'sender',
    meaning: "the channel's phone number is not registered",
  },
  133016: {
    outcome: 'retry_later',
    fault: 'sender',
    meaning: 'the number was registered too often, and is blocked for a while',
  },
  134011: {
    outcome: 'rejected',
    fault: 'message',
    meaning: 'the template needs WhatsApp Payments, whose terms the account has not accepted',
  },
  135000: {
    outcome: 'rejected',
    fault: 'message',
    meaning: 'WhatsApp refused the request as invalid, without a reason',
  },
  2494100: {
    outcome: 'retry_later',
    fault: 'sender',
    meaning: "the channel's number is under maintenance",
  },
}

/** `message_status` of a message that WhatsApp accepted, but doesn't deliver at once. */
export const heldBackCodes: MeaningTable = {
  held_for_quality_assessment:
    'WhatsApp holds it back until it has assessed the quality of its template, and may then drop it',
  paused: 'WhatsApp has paused its delivery, and may drop it',
}

/**
 * "User stopped marketing messages". A contact without WhatsApp (131026) isn't suppressed, because other channels may reach it.
 * https://developers.facebook.com/documentation/business-messaging/whatsapp/support/error-codes
 */
export const suppressingCodes: SuppressingCodes = { 131050: 'opt_out' }
