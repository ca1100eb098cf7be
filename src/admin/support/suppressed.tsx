import { pageOfAudit, type RecordedChange } from '../../../db/audit/list.ts'
import type { findExplanation } from '../../../db/sends/explanation.ts'
import { type Suppression, suppressionsOfContact } from '../../../db/suppression/entries.ts'
import { calledOf, causeOfReason } from '../../core/suppression/suppression.ts'
import type { AdminRuntime } from '../context.ts'
import { eachShown } from '../page/each-shown.tsx'
import { Moment } from '../page/inline-elements.tsx'
import { suppressionKeyOf } from '../suppressions/suppression-key.ts'

type Found = NonNullable<Awaited<ReturnType<typeof findExplanation>>>

export interface ShownEntry {
  entry: Suppression
  channelName: string | undefined
  /** Undefined if a provider's report added it, or the audit no longer has it. */
  added: RecordedChange | undefined
}

export interface SuppressedSend {
  /** The suppressions that hold for its contact on its channels. */
  entries: ShownEntry[]
  /** Whether it ended because of one. */
  endedSuppressed: boolean
}

/** Reads who suppressed the contact of a send, and why. */
export async function suppressedSend(
  { db, settings }: AdminRuntime,
  { send, facts }: Found,
  accountId: string,
): Promise<SuppressedSend> {
  const contact = { type: send.contactType, value: send.contactValue }
  const all = await suppressionsOfContact(db, { accountId, contact }, suppressionKeyOf(settings))
  const channels = facts.channels.map(({ channelId: id, name }) => ({ id, name }))
  const entries = all.filter(
    ({ channelId }) => channelId === null || channels.some(({ id }) => id === channelId),
  )
  return {
    entries: await Promise.all(entries.map((entry) => entryShown(db, entry, channels))),
    endedSuppressed: causeOfReason(send.failure ?? '') !== undefined,
  }
}

/** @param channels of its account. */
export async function entryShown(
  db: AdminRuntime['db'],
  entry: Suppression,
  channels: readonly { id: string; name: string }[],
): Promise<ShownEntry> {
  const { items } = await pageOfAudit(db, {
    target: entry.suppressionId,
    action: 'suppression.add',
    limit: 1,
  })
  const channelName = channels.find(({ id }) => id === entry.channelId)?.name
  return { entry, channelName, added: items[0] }
}

/** Whether the contact of a send is or was suppressed: by whom, why, and where that is changed. */
export function Suppressed({ entries, endedSuppressed }: SuppressedSend) {
  if (entries.length === 0 && !endedSuppressed) return null
  return (
    <section aria-labelledby="suppressed">
      <h2 id="suppressed">Suppression</h2>
      {entries.length === 0 && (
        <p>
          Its contact was suppressed when it ended. The entry was removed since:{' '}
          <a href="/audit?action=suppression.remove">who removed suppressions</a>
        </p>
      )}
      <ul>
        {eachShown(
          { rows: entries, idOf: ({ entry }) => entry.suppressionId, render: (row) => <Entry {...row} /> },
          (words) => (
            <li>{words}</li>
          ),
        )}
      </ul>
    </section>
  )
}

export function Entry({ entry, channelName, added }: ShownEntry) {
  const { suppressionId, channelId, cause, reason, requestId, createdAt } = entry
  return (
    <li>
      Its contact is suppressed on {channelId === null ? 'all channels' : channelName} since{' '}
      <Moment at={createdAt} />: {calledOf(cause)}
      {added && (
        <>
          , added by <a href={`/audit?${new URLSearchParams({ target: suppressionId })}`}>{added.by}</a>
        </>
      )}
      {requestId !== null && (
        <>
          , caused by <a href={`/support/${requestId}`}>a send</a>
        </>
      )}
      . {reason !== null ? `Reason: ${reason}` : 'No reason was given'}.{' '}
      <a href={`/contact?suppressionId=${suppressionId}`}>The contact's suppressions</a>
    </li>
  )
}
