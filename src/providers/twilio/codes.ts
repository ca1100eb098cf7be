import type { SuppressingCodes } from '../../core/suppression/suppression.ts'
import type { CodeTable, MeaningTable } from '../shared/code-table.ts'

/** Meanings in our own words, because Twilio's repeat the contact. Each code has a page: https://www.twilio.com/docs/api/errors/<code> */
export const twilioCodes: CodeTable = {
  14107: { outcome: 'retry_later', fault: 'sender', meaning: 'it accepts no more messages now' },
  20003: {
    outcome: 'channel_refused',
    fault: 'sender',
    meaning: "the channel's credentials are not accepted",
  },
  20005: {
    outcome: 'channel_refused',
    fault: 'sender',
    meaning: 'the account is not active (it has no funds left, or was never activated)',
  },
  20006: {
    outcome: 'channel_refused',
    fault: 'sender',
    meaning: "the channel's credentials lack the permission to send",
  },
  20010: { outcome: 'channel_refused', fault: 'sender', meaning: 'sending is disabled for the account' },
  20403: {
    outcome: 'channel_refused',
    fault: 'sender',
    meaning: 'the account is suspended or closed',
  },
  20404: {
    outcome: 'channel_refused',
    fault: 'sender',
    meaning: "it has no account with the channel's accountSid",
  },
  20429: { outcome: 'retry_later', fault: 'sender', meaning: 'it accepts no more requests now' },
  21211: { outcome: 'rejected', fault: 'recipient', meaning: 'the contact has no valid phone number' },
  21212: {
    outcome: 'channel_refused',
    fault: 'sender',
    meaning: "the channel's from is not a valid number, short code or sender name",
  },
  21266: {
    outcome: 'rejected',
    fault: 'recipient',
    meaning: "the contact's number is the channel's own from",
  },
  21408: {
    outcome: 'rejected',
    fault: 'recipient',
    meaning: "the account may not send to the contact's country",
  },
  21606: {
    outcome: 'rejected',
    fault: 'recipient',
    meaning: "the channel's sender can't send messages to this contact",
  },
  21608: {
    outcome: 'rejected',
    fault: 'recipient',
    meaning:
      'the account is a trial, or has no approved profile: it may send only to numbers verified with Twilio',
  },
  21610: {
    outcome: 'rejected',
    fault: 'recipient',
    meaning: 'the contact has unsubscribed from this sender',
  },
  21611: { outcome: 'retry_later', fault: 'sender', meaning: "the queue of the channel's sender is full" },
  21612: {
    outcome: 'rejected',
    fault: 'recipient',
    meaning: "the channel's sender can't reach this contact",
  },
  21614: { outcome: 'rejected', fault: 'recipient', meaning: "the contact's number is not a mobile number" },
  21617: { outcome: 'rejected', fault: 'message', meaning: 'the text is too long' },
  21620: { outcome: 'rejected', fault: 'message', meaning: 'the link to the media is not valid' },
  21635: { outcome: 'rejected', fault: 'recipient', meaning: "the contact's number is a landline" },
  21659: {
    outcome: 'channel_refused',
    fault: 'sender',
    meaning: "the channel's from is not a number of Twilio, or a short code of another country",
  },
  21660: {
    outcome: 'channel_refused',
    fault: 'sender',
    meaning: "the channel's from belongs to another account",
  },
  21661: { outcome: 'channel_refused', fault: 'sender', meaning: "the channel's from can't send SMS" },
  21703: {
    outcome: 'channel_refused',
    fault: 'sender',
    meaning: "the channel's messaging service has no number that it can send from",
  },
  21704: {
    outcome: 'channel_refused',
    fault: 'sender',
    meaning: "the channel's messaging service has no numbers",
  },
  21705: {
    outcome: 'channel_refused',
    fault: 'sender',
    meaning: "the channel's messagingServiceSid is not valid",
  },
  63007: {
    outcome: 'channel_refused',
    fault: 'sender',
    meaning: "the account has no sender for the channel's from, or it is not approved yet",
  },
  63016: {
    outcome: 'rejected',
    fault: 'recipient',
    meaning: 'outside the time in which free text may be sent; send a template',
  },
  63018: {
    outcome: 'retry_later',
    fault: 'sender',
    meaning: 'the channel behind the sender accepts no more messages now',
  },
  63038: {
    outcome: 'retry_later',
    fault: 'sender',
    wait: 'next_utc_day',
    meaning: 'the account has reached its daily limit of messages',
  },
}

/** Codes that come with a receipt only. Each has a page: https://www.twilio.com/docs/api/errors/<code> */
export const receiptCodes: MeaningTable = {
  30001: 'its queue was full',
  30002: 'the account was suspended',
  30003: 'the phone is switched off, out of reach, or takes no messages',
  30004: 'the message was blocked, or the number takes no messages',
  30005: 'the number is unknown, or no longer in use',
  30006: 'the number is a landline, or its carrier cannot be reached',
  30007: 'a carrier filtered the message as unwanted',
  30008: 'the carrier gave no reason',
  30009: 'a part of the message was lost',
  30010: 'the price was above the limit of the message',
  30034: 'the sending number is not registered for messages to this country',
}

/** Each has a page: https://www.twilio.com/docs/api/errors/<code> */
export const suppressingCodes: SuppressingCodes = {
  // "Invalid 'To' Phone Number"
  21211: 'invalid_contact',
  // "Unknown destination handset": it may no longer exist.
  30005: 'bounce',
  // "Attempt to send to unsubscribed recipient": STOP
  21610: 'opt_out',
  // "Channel message blocked by user action": the contact has blocked the sender, or withdrawn consent.
  63014: 'opt_out',
  // "Recipient opted out to receive message"
  63033: 'opt_out',
}
