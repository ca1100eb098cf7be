import { sqlText } from '../statement.ts'

/** So many channels of a provider are named in an alert: of more, an operator looks at the console. */
const namedChannels = 10

/** SQL: the names of the first channels `c` of accounts `a` that meet the condition, each with its account's name. */
export const namesOfChannels = (condition = 'true') => sqlText`
  coalesce((
    array_agg(a.name || ': ' || c.name order by c.id) filter (
      where ${condition}))[1:${namedChannels}], '{}')`
