import type { CodeTable } from './code-table.ts'

/** Meta asks to decide by the code: https://developers.facebook.com/documentation/business-messaging/whatsapp/support/error-codes */
export const whatsAppCodes: CodeTable = {
  0: { handling: 'channel_refused', meaning: "the channel's access token is not accepted" },
  1: { handling: 'retry_later', meaning: 'Meta had a fault that it does not name' },
  2: { handling: 'retry_later', meaning: "Meta's API is down or overloaded" },
  3: { handling: 'channel_refused', meaning: "the channel's access token lacks a permission" },
  4: { handling: 'retry_later', meaning: 'the app has reached its limit of calls' },
  10: { handling: 'channel_refused', meaning: "the channel's access token lacks a permission" },
  33: { handling: 'channel_refused', meaning: "the channel's phone number was deleted" },
  100: { handling: 'rejected', meaning: 'a field of the request is wrong, or the phone number id is' },
  190: { handling: 'channel_refused', meaning: "the channel's access token has expired or was revoked" },
  368: { handling: 'channel_refused', meaning: 'the account is restricted for breaking rules of WhatsApp' },
  80007: { handling: 'retry_later', meaning: 'the account has reached its limit of calls' },
  130429: {
    handling: 'retry_later',
    meaning: "the channel's number has reached its limit of messages a second",
  },
  130497: { handling: 'rejected', meaning: "the account may not write to the contact's country" },
  131000: { handling: 'retry_later', meaning: 'Meta had a fault that it does not name' },
  131005: { handling: 'channel_refused', meaning: "the channel's access token lacks a permission" },
  131008: { handling: 'rejected', meaning: 'a required field is missing' },
  131009: { handling: 'rejected', meaning: 'a field has a value that WhatsApp does not take' },
  131016: { handling: 'retry_later', meaning: 'a service of Meta is overloaded or away' },
  131021: { handling: 'rejected', meaning: 'the contact is the sending number itself' },
  131026: {
    handling: 'rejected',
    meaning: 'the contact cannot be reached: no WhatsApp, its terms not accepted, or too old a version',
  },
  131030: {
    handling: 'rejected',
    meaning: "the channel's number is a test number, and the contact is not on its list",
  },
  131031: { handling: 'channel_refused', meaning: 'the account is locked' },
  131042: { handling: 'channel_refused', meaning: 'the account cannot pay' },
  131045: {
    handling: 'channel_refused',
    meaning: "the channel's phone number is not registered as it should be",
  },
  131047: {
    handling: 'rejected',
    meaning: 'the contact last wrote more than 24 hours ago, so only a template can be sent',
  },
  131048: { handling: 'retry_later', meaning: 'many contacts have blocked or reported the number' },
  131049: { handling: 'rejected', meaning: 'WhatsApp holds marketing messages to this contact back' },
  131051: { handling: 'rejected', meaning: 'WhatsApp does not take this type of message' },
  131053: { handling: 'retry_later', meaning: 'WhatsApp could not take the media' },
  131056: { handling: 'retry_later', meaning: 'too many messages went to this contact in a short time' },
  131057: { handling: 'retry_later', meaning: 'the account is under maintenance' },
  132000: { handling: 'rejected', meaning: 'the template has another number of variables' },
  132001: { handling: 'rejected', meaning: 'no such template is approved in this language' },
  132012: { handling: 'rejected', meaning: 'a variable has another form than the template wants' },
  132015: { handling: 'rejected', meaning: 'the template is paused for its low quality' },
  133010: { handling: 'channel_refused', meaning: "the channel's phone number is not registered" },
  133016: {
    handling: 'retry_later',
    meaning: 'the number was registered too often, and is blocked for a while',
  },
}

/** These are all about permissions. */
const isOfPermissions = (code: number) => code >= 200 && code <= 299

export function whatsAppCode(code: number | string): CodeTable[string] | undefined {
  if (isOfPermissions(Number(code))) {
    return { handling: 'channel_refused', meaning: "the channel's access token lacks a permission" }
  }
  return whatsAppCodes[code]
}
