import { v4 as uuidv4 } from 'uuid'

export type TwilioForm = Record<string, string>

export interface TwilioError {
  status: number
  body: { code: number; message: string; more_info: string; status: number }
}

/**
 * The body of an error: https://www.twilio.com/docs/usage/twilios-response#error-and-exception-handling
 * Each code has a page, which `more_info` names: https://www.twilio.com/docs/api/errors/21211
 */
export function twilioError(status: number, code: number, message: string): TwilioError {
  const more_info = `https://www.twilio.com/docs/errors/${code}`
  return { status, body: { code, message, more_info, status } }
}

// Parameters of a message: https://www.twilio.com/docs/messaging/api/message-resource#create-a-message-resource
const fields =
  'To StatusCallback ApplicationSid MaxPrice ProvideFeedback Attempt ValidityPeriod ForceDelivery ContentRetention ' +
  'AddressRetention SmartEncoded PersistentAction TrafficType ShortenUrls ScheduleType SendAt SendAsMms ' +
  'ContentVariables RiskCheck From MessagingServiceSid Body MediaUrl ContentSid'
const knownFields = new Set(fields.split(' '))

/** Why no message is created from the form; undefined if one is. */
export function messageIssue(form: TwilioForm): TwilioError | undefined {
  const unknown = Object.keys(form).find((name) => !knownFields.has(name))
  // https://www.twilio.com/docs/api/errors/20001
  if (unknown !== undefined) return twilioError(400, 20001, `Unknown parameter ${unknown}`)
  return addressIssue(form) ?? validityIssue(form) ?? contentIssue(form)
}

function addressIssue({ To, From, MessagingServiceSid }: TwilioForm): TwilioError | undefined {
  // https://www.twilio.com/docs/api/errors/21604
  if (!To) return twilioError(400, 21604, "A 'To' phone number is required.")
  // https://www.twilio.com/docs/api/errors/21211
  if (!/^(whatsapp:)?\+[1-9]\d{6,14}$/.test(To)) {
    return twilioError(400, 21211, `The 'To' number ${To} is not a valid phone number.`)
  }
  // https://www.twilio.com/docs/api/errors/21603
  if (!From && !MessagingServiceSid) return twilioError(400, 21603, "A 'From' phone number is required.")
  // https://www.twilio.com/docs/api/errors/21910
  if (From && From.startsWith('whatsapp:') !== To.startsWith('whatsapp:')) {
    return twilioError(
      400,
      21910,
      "Invalid 'From' and 'To' pair. 'From' and 'To' should be of the same channel",
    )
  }
  return undefined
}

function validityIssue({ ValidityPeriod: seconds }: TwilioForm): TwilioError | undefined {
  if (seconds === undefined || (/^[1-9]\d*$/.test(seconds) && Number(seconds) <= 36_000)) return undefined
  // https://www.twilio.com/docs/api/errors/90007
  return twilioError(400, 90007, 'Invalid validity period value')
}

function contentIssue(form: TwilioForm): TwilioError | undefined {
  const { Body = '', MediaUrl, ContentSid, ContentVariables } = form
  // https://www.twilio.com/docs/api/errors/21619
  if (!Body && !MediaUrl && !ContentSid) {
    return twilioError(400, 21619, 'A text message body or media urls must be specified.')
  }
  // https://www.twilio.com/docs/api/errors/21617
  if ([...Body].length > 1600) {
    return twilioError(400, 21617, 'The concatenated message body exceeds the 1600 character limit')
  }
  // https://www.twilio.com/docs/api/errors/21620
  if (MediaUrl && !/^https?:\/\/\S+$/.test(MediaUrl)) return twilioError(400, 21620, 'Invalid media URL(s)')
  // https://www.twilio.com/docs/api/errors/21655
  if (ContentSid && !/^HX[0-9a-fA-F]{32}$/.test(ContentSid)) {
    return twilioError(400, 21655, 'The ContentSid is Invalid')
  }
  return ContentVariables ? variablesIssue(ContentVariables) : undefined
}

function variablesIssue(json: string): TwilioError | undefined {
  const values = variablesOf(json)
  // https://www.twilio.com/docs/api/errors/21656
  if (!values?.every(isVariable)) return twilioError(400, 21656, 'The ContentVariables Parameter is invalid')
  // https://www.twilio.com/docs/api/errors/21658
  if (values.some((value) => [...value].length > 1600)) {
    return twilioError(400, 21658, 'Parameter exceeded character limit')
  }
  return undefined
}

// https://www.twilio.com/docs/content/using-variables-with-content-api
function isVariable(value: unknown): value is string {
  return typeof value === 'string' && value !== '' && !/[\n\r\t]| {5}/.test(value)
}

/** Undefined if the JSON is no object, or has a name that no placeholder can have. */
function variablesOf(json: string): unknown[] | undefined {
  try {
    const variables: unknown = JSON.parse(json)
    if (typeof variables !== 'object' || variables === null || Array.isArray(variables)) return undefined
    return Object.keys(variables).every((name) => /^\w{1,16}$/.test(name))
      ? Object.values(variables)
      : undefined
  } catch {
    return undefined
  }
}

// https://www.twilio.com/docs/messaging/api/message-resource#message-properties
export function messageOf(form: TwilioForm, accountSid: string) {
  const { To, From, MessagingServiceSid, Body, MediaUrl } = form
  const sid = `${MediaUrl ? 'MM' : 'SM'}${uuidv4().replaceAll('-', '')}`
  return {
    account_sid: accountSid,
    api_version: '2010-04-01',
    body: Body ?? '',
    date_created: new Date().toUTCString(),
    direction: 'outbound-api',
    error_code: null,
    error_message: null,
    from: From ?? null,
    messaging_service_sid: MessagingServiceSid ?? null,
    num_media: MediaUrl ? '1' : '0',
    num_segments: '1',
    sid,
    status: MessagingServiceSid ? 'accepted' : 'queued',
    to: To,
    uri: `/2010-04-01/Accounts/${accountSid}/Messages/${sid}.json`,
  }
}
