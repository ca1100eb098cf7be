import { callbackStates } from '../callbacks/callback.ts'
import { anyContact } from '../contacts/contact.ts'
import { isLongerThan, isStorable } from '../requests/characters.ts'
import { contactInQuery } from '../requests/decoded-plus.ts'
import { type Place, placesOf } from '../requests/list-place.ts'
import {
  afterParameter,
  createReadQuery,
  limitParameter,
  oneOf,
  parsedText,
  type QueryParameter,
} from '../requests/query.ts'
import { canBeRecordId } from '../requests/record-id.ts'

const maxTemplateName = 512

function list<Filters extends Record<string, QueryParameter> = Record<never, never>>(
  name: string,
  isKey = canBeRecordId,
  filters = {} as Filters,
) {
  const places = placesOf(name, isKey)
  const parameters = { limit: limitParameter(name), after: afterParameter(places.read), ...filters }
  const writeNext = (next: Place | undefined) => (next ? places.write(next) : null)
  return { parameters, readQuery: createReadQuery(parameters), writeNext }
}

/** A `webhookIdOf`. */
export const isWebhookId = (key: string) =>
  canBeRecordId(key.slice(0, 36)) && /^-\d{1,9}$/.test(key.slice(36))

const stateParameter = {
  state: { schema: oneOf(callbackStates), what: 'Only callbacks in this state.' },
}

const contactParameter = {
  contact: {
    schema: parsedText(contactInQuery, `has to be ${anyContact}`),
    what: 'Only entries of this contact. A `+` need not be written as `%2B`.',
  },
}

/** The lists of what an account has, by their names in the answers: their parameters, and how `next` is written. */
export const accountLists = {
  channels: list('channels'),
  templates: list('templates', (name) => isStorable(name) && !isLongerThan(name, maxTemplateName)),
  flows: list('flows'),
  endpoints: list('endpoints'),
  callbacks: list('callbacks', isWebhookId, stateParameter),
  suppressions: list('suppressions', canBeRecordId, contactParameter),
}
