import { isLongerThan, isStorable } from './characters.ts'
import { type Place, placesOf } from './list-place.ts'
import { afterParameter, limitParameter, queryReader } from './query.ts'
import { canBeRecordId } from './record-id.ts'

const maxTemplateName = 512

const list = (name: string, isKey = canBeRecordId) => {
  const places = placesOf(name, isKey)
  const parameters = { limit: limitParameter(name), after: afterParameter(places.read) }
  const writeNext = (next: Place | undefined) => (next ? places.write(next) : null)
  return { parameters, readQuery: queryReader(parameters), writeNext }
}

/** The lists of what an account has, by their names in the answers: their parameters, and how `next` is written. */
export const accountLists = {
  channels: list('channels'),
  templates: list('templates', (name) => isStorable(name) && !isLongerThan(name, maxTemplateName)),
  flows: list('flows'),
  endpoints: list('endpoints'),
}
