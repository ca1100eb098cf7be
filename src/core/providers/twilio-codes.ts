import type { CodeTable } from './code-table.ts'

/** In our own words: Twilio's repeat the number. Each code has a page: https://www.twilio.com/docs/api/errors/<code> */
export const twilioCodes: CodeTable = {
  14107: { handling: 'retry_later', meaning: 'it takes no more messages now' },
  20003: { handling: 'channel_refused', meaning: "it refuses the channel's credentials" },
  20429: { handling: 'retry_later', meaning: 'it takes no more requests now' },
  21211: { handling: 'rejected', meaning: 'the contact has no valid phone number' },
  21408: { handling: 'rejected', meaning: "the account may not send to the contact's country" },
  21606: { handling: 'rejected', meaning: "the channel's sender can't send messages to this contact" },
  21610: { handling: 'rejected', meaning: 'the contact has unsubscribed from this sender' },
  21611: { handling: 'retry_later', meaning: "the queue of the channel's sender is full" },
  21612: { handling: 'rejected', meaning: "the channel's sender can't reach this contact" },
  21614: { handling: 'rejected', meaning: "the contact's number is not a mobile number" },
  21617: { handling: 'rejected', meaning: 'the text is too long' },
  21620: { handling: 'rejected', meaning: 'the link to the media is not valid' },
  63016: {
    handling: 'rejected',
    meaning: 'outside the time in which free text may be sent; send a template',
  },
  63018: { handling: 'retry_later', meaning: 'the channel behind the sender takes no more messages now' },
}
