/** What to type as ceilings of an account or a channel. */
export const ceilingHint =
  'An amount of messages or segments in an hour, day or month of UTC, such as 10000 messages/day, 300000 messages/month. Empty: none'
