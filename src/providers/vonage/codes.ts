import { wordOf } from '../../core/receipts/receipt-request.ts'
import type { SuppressingCodes } from '../../core/suppression/suppression.ts'
import type { CodeTable, MeaningTable } from '../shared/code-table.ts'

const account = { outcome: 'channel_refused', fault: 'sender' } as const
const message = { outcome: 'rejected', fault: 'message' } as const

/**
 * The end of an error's `type`, behind its `#`. Numbers: https://developer.vonage.com/api-errors/messages; the names are those of
 * all APIs: https://developer.vonage.com/api-errors
 */
export const vonageCodes: CodeTable = {
  1000: { outcome: 'retry_later', fault: 'sender', meaning: 'it was called too often' },
  1010: { ...message, meaning: 'a field is missing' },
  1020: { ...message, meaning: 'it considers a field invalid' },
  1021: { ...message, meaning: 'it considers a tag invalid' },
  1022: { ...message, meaning: 'it does not know the template, or its variables are others' },
  1030: { outcome: 'retry_later', fault: 'provider', meaning: 'it had an internal error' },
  1040: { outcome: 'rejected', fault: 'recipient', meaning: "it can't send to this number" },
  1050: { outcome: 'rejected', fault: 'recipient', meaning: 'the number may not receive messages' },
  1060: { ...account, meaning: 'the account is barred from sending' },
  1070: { ...account, meaning: 'the account has no credit left, or no quota' },
  1080: { ...account, meaning: 'the account may not send by this API' },
  1090: { ...message, meaning: 'the message is too long' },
  1100: { outcome: 'retry_later', fault: 'provider', meaning: 'it could not submit the message' },
  1110: { ...account, meaning: 'the signature is not valid' },
  1120: {
    ...account,
    meaning: "the channel's from is not accepted in the contact's country, or not at all",
  },
  1140: { ...account, meaning: 'the account may not use this function' },
  1160: {
    outcome: 'rejected',
    fault: 'recipient',
    meaning: 'the number is not among those that the account may reach',
  },
  1170: { outcome: 'rejected', fault: 'recipient', meaning: 'it considers the number invalid' },
  1241: { outcome: 'retry_later', fault: 'recipient', meaning: 'the number got too many messages' },
  1430: { outcome: 'rejected', fault: 'recipient', meaning: "this number can't be reached in this way" },
  'low-balance': { ...account, meaning: 'the account has no credit left' },
  unauthorized: { ...account, meaning: "it does not accept the channel's credentials" },
  forbidden: { ...account, meaning: 'the account may not do this' },
  unprovisioned: { ...account, meaning: "the channel's credentials may not use this API" },
  'account-suspended': { ...account, meaning: 'the account is suspended' },
  'jwt-expired': { ...account, meaning: "the token is expired: check PostgreSQL's clock" },
  'jwt-revoked': { ...account, meaning: "the channel's private key was revoked" },
  'invalid-api-key': { ...account, meaning: 'it does not know the API key' },
  'invalid-signature': { ...account, meaning: 'the signature is not valid' },
}

/** Codes that come with a status only: https://developer.vonage.com/en/api-errors/messages */
export const receiptCodes: MeaningTable = {
  1180: 'the phone is switched off, or out of reach',
  1190: 'the number is no longer in use',
  1200: "the number's move to another carrier isn't complete",
  1210: 'a carrier filtered the message as unwanted',
  1220: 'the phone was busy',
  1230: 'a network failed',
  1240: 'the contact asked to get no more messages (STOP)',
  1250: 'there is no route to the number',
  1260: 'the number could not be reached',
  1270: "the carrier blocked the message because of the contact's age",
  1280: 'the carrier blocked the message',
  1290: "the contact's prepaid account has no credit",
  1300: 'the number is no user of the messaging service',
  1310: "the contact's device cannot receive the message",
  1320: 'the message was already sent',
  1330: 'the carrier gave no reason; the number may be unknown',
  1340: 'the contact has not written within the last 24 hours: send a template',
}

/** https://developer.vonage.com/en/api-errors/messages */
export const suppressingCodes: SuppressingCodes = {
  // "Invalid or Missing Msisdn Param"
  1170: 'invalid_contact',
  // "Absent Subscriber - Permanent": the number is no longer in use.
  1190: 'bounce',
  // "Anti-Spam Rejection - STOP"
  1240: 'opt_out',
}

/** The code of an error: the end of its type, or else its title, which is a text otherwise. Never a value that could be a phone number. */
export function vonageCodeOf({ type, title }: { type?: unknown; title?: unknown }): string | undefined {
  const [, ofType = ''] = /#([a-z0-9-]{1,64})$/.exec(wordOf(type)) ?? []
  const isName = /^[a-z]+(-[a-z]+)*$/.test(ofType)
  return [ofType, wordOf(title)].find((one) => /^\d{1,6}$/.test(one)) ?? (isName ? ofType : undefined)
}
