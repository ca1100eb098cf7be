import type { Command } from 'commander'
import { listChannels } from '../../db/accounts/channels.ts'
import { pageOfAudit } from '../../db/audit/list.ts'
import { audited } from '../../db/audit/record.ts'
import type { Database, Transaction } from '../../db/connection/client.ts'
import {
  addSuppression,
  allSuppressions,
  listSuppressions,
  removeSuppressedContact,
  removeSuppression,
  type SuppressedContact,
  type Suppression,
  suppressionsOfContact,
} from '../../db/suppression/entries.ts'
import { importSuppressions } from '../../db/suppression/import.ts'
import { suppressionChanged } from '../core/accounts/audit-details.ts'
import { anyContact, type Contact } from '../core/contacts/contact.ts'
import { byteOrderMark } from '../core/requests/csv.ts'
import { canBeRecordId } from '../core/requests/record-id.ts'
import { nothingThere, notSuppressed, suppressedBefore, whatWasLeftOut } from '../core/sends/left-out.ts'
import { anyEventByContact, removalFault, suppressionKey } from '../core/suppression/suppression.ts'
import { csvHeader } from '../core/suppression/suppression-csv.ts'
import { shownSuppression } from '../core/suppression/suppression-view.ts'
import { type Answerer, type CliContext, CliError, renderFields, renderWith } from './answer.ts'
import { contact, existingAccount, operatorsWords, storedContact, wholeNumber } from './arguments.ts'
import { checkFile, csvLines, pagesOf } from './suppression-files.ts'

type GivenContact = Pick<Contact, 'type' | 'value'>

interface EntryOptions {
  account: string
  contact: GivenContact
  channel?: string
  reason?: string
}

const ofAccount = ['--account <id>', 'the account that the list belongs to'] as const
const ofContact = ['--contact <value>', anyContact, storedContact] as const
const ofChannel = ['--channel <id>', 'for this channel alone; default: for all of the account'] as const

const keyOf = ({ setting }: CliContext) => suppressionKey(setting('API_KEY_PEPPER'))

export function suppressionCommands(program: Command, answer: Answerer): void {
  const suppression = program.command('suppression')
  addCommand(suppression, answer)
  removeCommand(suppression, answer)
  listCommand(suppression, answer)
  importCommand(suppression, answer)
  exportCommand(suppression, answer)
}

function addCommand(suppression: Command, answer: Answerer): void {
  suppression
    .command('add')
    .description('send nothing to the contact any more; its waiting sends fail')
    .requiredOption(...ofAccount)
    .requiredOption('--contact <value>', anyContact, contact)
    .option(...ofChannel)
    .option('--reason <text>', 'why, for those who read the list', operatorsWords)
    .action((options: EntryOptions, command: Command) =>
      answer(
        command,
        async (context) => {
          const { entry, isNew } = await recordedAddition(context, options)
          return { ...shownSuppression(entry, 'masked'), ...(!isNew && { alreadyThere: true }) }
        },
        ({ alreadyThere = false, ...entry }) =>
          renderWith(entry, alreadyThere ? suppressedBefore(entry) : ''),
      ),
    )
}

/** Adds an entry, unless the contact has it. */
async function recordedAddition(context: CliContext, options: EntryOptions) {
  const suppressed = await contactOf(context.db, options)
  return await audited(
    context.db,
    (transaction) => addSuppression(transaction, suppressed, options.reason ?? null, keyOf(context)),
    ({ entry, isNew }) =>
      isNew && {
        ...context.actor,
        ...suppressionChanged('suppression.add', entry, suppressed.accountId),
      },
  )
}

function removeCommand(suppression: Command, answer: Answerer): void {
  suppression
    .command('remove')
    .description('let the contact get sends again; give the entry, or the account and the contact')
    .argument('[suppression]', "the entry's id")
    .option(...ofAccount)
    .option(...ofContact)
    .option(...ofChannel)
    .option('--reason <text>', `why, for the audit; required for ${anyEventByContact}`, operatorsWords)
    .action((id: string | undefined, options: Partial<EntryOptions>, command: Command) =>
      answer(command, async (context) => {
        const removed = await removeEntry(context, id, options)
        if (removed) return shownSuppression(removed, 'masked')
        const why = await whyNotRemoved(context, id, options)
        throw new CliError('not_found', `${why}; see the entries with: outbound suppression list`)
      }),
    )
}

async function whyNotRemoved(
  context: CliContext,
  id: string | undefined,
  { contact, account }: Partial<EntryOptions>,
): Promise<string> {
  if (contact === undefined || account === undefined) {
    const asked = { target: id, action: 'suppression.remove', limit: 1 } as const
    const [removal] = (await pageOfAudit(context.db, asked)).items
    return removal ? notSuppressed.removed(removal) : notSuppressed.never
  }
  const accountId = await existingAccount(context.db, account)
  const entries = await suppressionsOfContact(context.db, { accountId, contact }, keyOf(context))
  return entries.length === 0
    ? notSuppressed.contact
    : notSuppressed.elsewhere(entries.map(({ channelId }) => channelId))
}

async function removeEntry(
  context: CliContext,
  id: string | undefined,
  { contact, account, ...options }: Partial<EntryOptions>,
) {
  if ((id === undefined) === (contact === undefined) || (contact !== undefined && account === undefined))
    throw new CliError('usage', 'Give the id of the entry, or --account and --contact')
  if (contact !== undefined && account !== undefined) {
    const suppressed = await contactOf(context.db, { ...options, account, contact })
    const remove = (transaction: Transaction) =>
      removeSuppressedContact(transaction, suppressed, keyOf(context))
    return await recordedRemoval(context, remove, suppressed.accountId, options.reason)
  }
  const accountId = account === undefined ? undefined : await existingAccount(context.db, account)
  if (id === undefined || !canBeRecordId(id)) return undefined
  const remove = (transaction: Transaction) => removeSuppression(transaction, accountId, id)
  return await recordedRemoval(context, remove, accountId, options.reason)
}

/** Removes an entry, unless there is none, or it takes a reason. */
function recordedRemoval(
  { db, actor }: CliContext,
  remove: (transaction: Transaction) => Promise<Suppression | undefined>,
  accountId: string | undefined,
  reason: string | undefined,
) {
  return audited(
    db,
    async (transaction) => {
      const entry = await remove(transaction)
      const fault = entry && removalFault(entry, reason)
      // Undoes the removal.
      if (fault !== undefined)
        throw new CliError('usage', `${fault}; see: outbound suppression remove --help`)
      return entry
    },
    (entry) =>
      entry && {
        ...actor,
        ...suppressionChanged('suppression.remove', entry, accountId, reason === undefined ? {} : { reason }),
      },
  )
}

interface ListOptions {
  account: string
  contact?: GivenContact
  limit: number
  after?: string
}

const defaultLimit = 100

function listCommand(suppression: Command, answer: Answerer): void {
  suppression
    .command('list')
    .description('the entries, oldest first')
    .requiredOption(...ofAccount)
    .option(...ofContact)
    .option('--limit <n>', `how many at most; default: ${defaultLimit}`, wholeNumber, defaultLimit)
    .option('--after <suppression>', 'those after this entry')
    .action((options: ListOptions, command: Command) =>
      answer(command, async (context) => {
        const accountId = await existingAccount(context.db, options.account)
        const { contact: given, limit, after } = options
        if (after !== undefined && !canBeRecordId(after)) throw new CliError('not_found', `No entry ${after}`)
        const entries = given
          ? await suppressionsOfContact(context.db, { accountId, contact: given }, keyOf(context))
          : await listSuppressions(context.db, accountId, { after, limit })
        return { suppressions: entries.map((entry) => shownSuppression(entry, 'masked')) }
      }),
    )
}

function importCommand(suppression: Command, answer: Answerer): void {
  suppression
    .command('import')
    .description('add the entries of a file, all or none; their waiting sends fail')
    .requiredOption(...ofAccount)
    .requiredOption('--file <path>', `CSV: line 1 is ${csvHeader}, then one line each`)
    .action((options: { account: string; file: string }, command: Command) =>
      answer(
        command,
        async ({ db, printProgress, actor }) => {
          const accountId = await existingAccount(db, options.account)
          const ids = new Set((await listChannels(db, accountId)).map(({ channelId }) => channelId))
          const file = { path: options.file, isChannel: (id: string) => ids.has(id) }
          const total = await checkFile(file)
          const { json } = command.optsWithGlobals<{ json?: boolean }>()
          const showProgress = (read: number) => {
            if (!json && read % progressEvery === 0) printProgress(`${read} of ${total} entries`)
          }
          const imported = await audited(
            db,
            (transaction) => importSuppressions(transaction, accountId, pagesOf(file, showProgress)),
            (imported) => ({
              ...actor,
              action: 'suppression.import',
              target: accountId,
              details: { imported, alreadyThere: total - imported },
            }),
          )
          return { imported, alreadyThere: total - imported }
        },
        (answer) =>
          renderWith(
            { imported: answer.imported },
            whatWasLeftOut(answer.imported, { listed: answer.alreadyThere }, nothingThere.import),
          ),
      ),
    )
}

const progressEvery = 100_000

function exportCommand(suppression: Command, answer: Answerer): void {
  suppression
    .command('export')
    .description('print the entries as import reads them, with whole contacts')
    .requiredOption(...ofAccount)
    .option('--bom', 'with a byte order mark, by which spreadsheets know UTF-8')
    .action((options: { account: string; bom?: true }, command: Command) =>
      answer(
        command,
        async ({ db, print }) => {
          const accountId = await existingAccount(db, options.account)
          const { json } = command.optsWithGlobals<{ json?: boolean }>()
          if (json) throw new CliError('usage', 'suppression export prints CSV: leave --json out')
          let lines = [`${options.bom ? byteOrderMark : ''}${csvHeader}`]
          for await (const page of allSuppressions(db, accountId)) {
            print(lines.join('\n'))
            lines = csvLines(page)
          }
          return { lines }
        },
        (answered) => ('lines' in answered ? answered.lines.join('\n') : renderFields(answered)),
      ),
    )
}

/** @throws CliError if there is no such account, or it has no such channel. */
async function contactOf(
  db: Database,
  {
    account,
    contact: given,
    channel = null,
  }: Pick<EntryOptions, 'account' | 'contact'> & { channel?: string | null },
): Promise<SuppressedContact> {
  const accountId = await existingAccount(db, account)
  const isOwn =
    channel === null || (await listChannels(db, accountId)).some(({ channelId }) => channelId === channel)
  if (isOwn) return { accountId, contact: given, channelId: channel }
  throw new CliError(
    'not_found',
    `The account has no channel ${channel}; see them with: outbound channel list --account ${accountId}`,
  )
}
