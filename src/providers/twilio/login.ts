/** The header of a call to Twilio: by the API key, if the channel has one, else by the account's token. */
export function twilioAuthorization(config: {
  accountSid: string
  authToken?: string | undefined
  apiKeySid?: string | undefined
  apiKeySecret?: string | undefined
}): string {
  const { accountSid, authToken, apiKeySid = accountSid, apiKeySecret = authToken } = config
  return `Basic ${Buffer.from(`${apiKeySid}:${apiKeySecret}`).toString('base64')}`
}
