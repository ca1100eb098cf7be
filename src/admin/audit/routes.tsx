import { countAudit, pageOfAudit } from '../../../db/audit/list.ts'
import { targetNames } from '../../../db/audit/target-names.ts'
import { type AdminApp, type AdminRuntime, factory } from '../context.ts'
import { allow } from '../people/allow.ts'
import { auditInputIn, places, readAuditForm } from './audit-form.ts'
import { AuditPage } from './audit-page.tsx'

const rowsOnPage = 50

/** A row may be damaged. */
const textsIn = (details: unknown): unknown[] =>
  typeof details === 'object' && details !== null ? Object.values(details) : []

const isText = (value: unknown): value is string => typeof value === 'string'

/** Who did what, when, from where, to what (docs/how-to/see-who-did-what.md). */
export function audit({ db }: AdminRuntime): AdminApp {
  const app: AdminApp = factory.createApp()
  app.get('/', allow('reader'), async (c) => {
    const input = auditInputIn(c.req.query())
    const read = readAuditForm(input)
    if ('issues' in read) return c.html(<AuditPage input={input} issues={read.issues} />, 400)
    const [{ items, next }, total] = await Promise.all([
      pageOfAudit(db, { ...read.form, limit: rowsOnPage }),
      countAudit(db, read.form),
    ])
    const names = await targetNames(
      db,
      items.flatMap(({ target, details }) => [target, ...textsIn(details)].filter(isText)),
    )
    return c.html(
      <AuditPage {...{ input, names, total }} changes={items} next={next && places.write(next)} />,
    )
  })
  return app
}
