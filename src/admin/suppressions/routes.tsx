import type { Context } from 'hono'
import { accountChannels, namesOf, withIdOrName } from '../../../db/accounts/names.ts'
import { audited } from '../../../db/audit/record.ts'
import { allSuppressions, type Suppression } from '../../../db/suppression/entries.ts'
import { importSuppressions, tryImport } from '../../../db/suppression/import.ts'
import { countSuppressions, shownSuppressions } from '../../../db/suppression/shown-entries.ts'
import { isStorable } from '../../core/requests/characters.ts'
import { csvRecord } from '../../core/requests/csv.ts'
import { canBeRecordId } from '../../core/requests/record-id.ts'
import { firstOddLine, notUtf8, utf8Text } from '../../core/requests/utf8.ts'
import { suppressionCauses } from '../../core/suppression/suppression.ts'
import { checkCsv, csvHeader, entriesOfCsv } from '../../core/suppression/suppression-csv.ts'
import { pageActor } from '../audit/page-actor.ts'
import { type AdminApp, type AdminEnv, type AdminRuntime, factory } from '../context.ts'
import { PageError } from '../errors.tsx'
import { type Contacts, contactsSeen, showContact } from '../page/masking.ts'
import { allow } from '../people/allow.ts'
import { markOf, streamOf } from '../sends/csv.ts'
import { fieldsOf } from '../support/form-fields.ts'
import { importLimit, limitedText } from './import-limit.ts'
import { ImportedPage, PreviewPage } from './import-pages.tsx'
import { AskPage, SuppressionsPage } from './suppressions-page.tsx'

const pageSize = 50
const importedAtOnce = 5000

/** The suppression lists (docs/how-to/suppress-contacts.md#on-the-console). */
export function suppressions(runtime: AdminRuntime): AdminApp {
  const app: AdminApp = factory.createApp()
  const { csv, upload } = handlers(runtime)
  app.get('/suppressions', allow('reader'), (c) => list(runtime, c))
  app.get('/suppressions.csv', allow('reader'), csv)
  app.post('/suppressions/import', allow('support'), importLimit, upload)
  app.get('/suppressions/*', allow('reader'), (c) => c.redirect('/suppressions'))
  return app
}

interface Account {
  id: string
  name: string
  channels: { id: string; name: string }[]
}

function handlers({ db, settings, log }: AdminRuntime) {
  async function accountOf(idOrName: string): Promise<Account> {
    const [found, another] = isStorable(idOrName) ? await withIdOrName(db, 'account', idOrName) : []
    if (!found) throw new PageError(404, 'Account: no account has this id or name.')
    if (another) throw new PageError(400, 'Account: several accounts have this name. Enter the id of one.')
    const { id } = found
    const [names, channels] = await Promise.all([namesOf(db, [id]), accountChannels(db, id)])
    return { id, name: names.get(id) ?? id, channels }
  }

  async function csv(c: Context<AdminEnv>) {
    const account = await accountOf(c.get('account')?.accountId ?? '')
    const contacts = contactsSeen(c, settings)
    c.set('downloaded', { action: 'suppression.export', target: account.id })
    return c.body(
      await streamOf(recordsOf(allSuppressions(db, account.id), contacts, markOf(c.req.query('bom')))),
      200,
      {
        'Content-Type': 'text/csv; charset=utf-8; header=present',
        'Content-Disposition': 'attachment; filename="suppressions.csv"',
        'Cache-Control': 'no-store',
      },
    )
  }

  async function upload(c: Context<AdminEnv>) {
    const fields = await fieldsOf(c)
    const account = await accountOf(typeof fields.accountId === 'string' ? fields.accountId : '')
    const text = await textOf(fields.file ?? fields.csv)
    const isChannel = (id: string) => account.channels.some((channel) => channel.id === id)
    const lines = () => text.split('\n').map((line, index): [number, string] => [index + 1, line])
    const checked = await checkCsv(lines(), isChannel)
    if ('faults' in checked) return c.html(<PreviewPage {...{ account, text, ...checked }} />, 400)
    const fault = (number: number): never => {
      throw new PageError(400, `Line ${number} can't be read. Upload the file again.`)
    }
    const pages = () => entriesOfCsv(lines(), isChannel, importedAtOnce, fault)
    const { entries } = checked
    if (!('confirmed' in fields))
      return c.html(
        <PreviewPage {...{ account, text, entries, added: await tryImport(db, account.id, pages()) }} />,
      )
    const { id: accountId } = account
    const added = await audited(
      db,
      (transaction) => importSuppressions(transaction, accountId, pages()),
      (imported) => ({
        ...pageActor(c),
        action: 'suppression.import',
        target: accountId,
        details: { imported, alreadyThere: entries - imported },
      }),
    )
    log.info({ event: 'suppressions_imported', accountId, added, entries, by: c.get('person').name })
    return c.html(<ImportedPage {...{ account, entries, added }} />)
  }

  return { csv, upload }
}

async function list({ db, settings }: AdminRuntime, c: Context<AdminEnv>) {
  const { cause = '', channelId = '', before = '' } = c.req.query()
  const chosen = c.get('account')
  if (!chosen) return c.html(<AskPage />)
  const { accountId, name } = chosen
  const account = { id: accountId, name, channels: await accountChannels(db, accountId) }
  const isOfNone = channelId !== '' && !account.channels.some(({ id }) => id === channelId)
  if (isOfNone) throw new PageError(404, 'Channel: the account has no such channel.')
  if (before !== '' && !canBeRecordId(before)) throw new PageError(400, 'This page no longer exists.')
  const asked = { cause: causeOf(cause), channelId: channelId || undefined, before: before || undefined }
  const [page, total] = await Promise.all([
    shownSuppressions(db, account.id, { ...asked, limit: pageSize }),
    countSuppressions(db, account.id, asked),
  ])
  const contacts = contactsSeen(c, settings, { accountId: account.id })
  return c.html(<SuppressionsPage {...{ account, asked, page, total, contacts }} />)
}

function causeOf(cause: string) {
  const known = suppressionCauses.find((one) => one === cause)
  if (cause !== '' && !known) throw new PageError(400, 'Cause: choose one from the list.')
  return known
}

/** Reads the text of an uploaded file, or of the field of the preview's form. */
async function textOf(field: unknown): Promise<string> {
  const text = field instanceof File ? await utf8TextOf(field) : field
  if (typeof text === 'string') return limitedText(text)
  throw new PageError(400, 'Choose a file.')
}

async function utf8TextOf(file: File): Promise<string> {
  const bytes = Buffer.from(await file.arrayBuffer())
  const text = utf8Text(bytes)
  if (text !== undefined) return text
  throw new PageError(400, `Nothing was imported: line ${firstOddLine(bytes)} ${notUtf8}.`)
}

/** As the import reads it. Entries whose contact was erased are left out. */
async function* recordsOf(
  pages: AsyncGenerator<Suppression[]>,
  contacts: Contacts,
  mark: string,
): AsyncGenerator<string> {
  yield `${mark}${csvHeader}\r\n`
  for await (const page of pages) {
    const records = page.flatMap(({ contactType, contactValue, channelId, reason }) =>
      contactValue === null
        ? []
        : csvRecord([showContact({ contactType, contactValue }, contacts), channelId ?? '', reason ?? '']),
    )
    yield records.join('')
  }
}
