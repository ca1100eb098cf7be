import { sqlText } from '../statement.ts'

/** SQL of the first id that can have been made at a time. Ids begin with their time, so the primary key finds a span of time. */
export const firstIdSql = (at: string) => sqlText`
  (lpad(to_hex(greatest(extract(epoch from ${at}) * 1000, 0)::bigint), 12, '0')
   || '00000000000000000000')::uuid`
