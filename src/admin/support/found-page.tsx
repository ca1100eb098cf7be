import type { LookedUp, LookedUpKind } from '../../../db/look-up/look-up.ts'
import type { Target, TargetKind } from '../../../db/look-up/targets.ts'
import { isContactType } from '../../core/contacts/contact.ts'
import { writeCursor } from '../../core/requests/list-query.ts'
import type { UnknownIdFacts } from '../../core/requests/request-id.ts'
import { explainNothing, noMatchWords, recognisedWords } from '../../core/search/in-words.ts'
import type { CodeMeaning } from '../../providers/look-up-code.ts'
import { DataTable } from '../page/data-table.tsx'
import { Moment, WithCommands } from '../page/inline-elements.tsx'
import { Layout } from '../page/layout.tsx'
import { linkTo } from '../page/links.ts'

interface FoundPageProps {
  pasted: string
  found: LookedUp
  facts: UnknownIdFacts
}

/** The meanings of a pasted text: several things, a code, or nothing that is there. */
export function FoundPage({ pasted, found, facts }: FoundPageProps) {
  const targets = targetsOf(found)
  const unmatched = noMatchWords(found.looked)
  return (
    <Layout title="Find" at="/support" find={{ pasted, focused: true }}>
      {targets.length > 0 && <Targets targets={targets} looked={found.looked} />}
      {targets.length === 0 && found.codes.length > 0 && <h1>{`What ${found.codes[0]?.code} means`}</h1>}
      {found.codes.length > 0 && <Codes codes={found.codes} />}
      {targets.length === 0 && found.codes.length === 0 && <Nothing {...{ pasted, found, facts }} />}
      {unmatched !== undefined && (targets.length > 0 || found.codes.length > 0) && (
        <p class="muted">{unmatched}</p>
      )}
      <Further pasted={pasted} found={found} />
      <p>
        <a href="/sends">All sends, by account, channel, state or time</a>
      </p>
    </Layout>
  )
}

export const targetsOf = ({ looked }: LookedUp): Target[] => looked.flatMap(({ targets }) => targets)

/** Whether the page answers what was asked: that nothing was sent to a contact is an answer, too. */
export const isAnswer = (found: LookedUp): boolean =>
  targetsOf(found).length > 0 ||
  found.codes.length > 0 ||
  found.looked.some(({ kind }) => isContactType(kind))

const kindWords: Record<TargetKind, string> = {
  send: 'Send',
  channel: 'Channel',
  endpoint: 'Endpoint',
  flow: 'Flow',
  conversation: 'Conversation',
  suppression: 'Suppression',
  account: 'Account',
  contactOfSend: 'Contact',
  contactOfSuppression: 'Contact',
}

function Targets({ targets, looked }: { targets: readonly Target[]; looked: readonly LookedUpKind[] }) {
  return (
    <section aria-labelledby="found">
      <h1 id="found">{targets.length === 1 ? 'Found one thing' : `Found ${targets.length} things`}</h1>
      <p>{recognisedWords(looked)}</p>
      <DataTable
        label="What was found"
        rows={targets}
        idOf={({ id }) => id}
        columns={[
          { name: 'What', cell: ({ kind, name }) => `${kindWords[kind]} ${name ?? ''}` },
          { name: 'Account', cell: ({ accountName }) => accountName },
          {
            name: 'Id',
            cell: (target) => (
              <a class="id" href={linkTo(target)}>
                {target.id}
              </a>
            ),
          },
        ]}
      />
    </section>
  )
}

function Codes({ codes }: { codes: readonly CodeMeaning[] }) {
  return (
    <>
      {codes.map(({ code, provider, meaning, advice }) => (
        <section class="verdict unsure">
          <p class="kicker">
            Code {code} of {provider}
          </p>
          <h2>{meaning}</h2>
          <p>{advice}</p>
          <p>
            <a href={`/sends?${new URLSearchParams({ providerCode: code })}`}>Sends with this code</a>
          </p>
        </section>
      ))}
    </>
  )
}

const sentenceEnd = /(?<=\.) /

/** Possible reasons, and where to look next. */
function Nothing({ pasted, found, facts }: FoundPageProps) {
  const { requestId, why, next } = explainNothing(pasted, found, facts)
  const [first, ...rest] = why.split(sentenceEnd)
  const unmatched = noMatchWords(found.looked)
  return (
    <section class="verdict unsure">
      <h1>{first}</h1>
      {rest.length > 0 && <p>{rest.join(' ')}</p>}
      {requestId !== undefined && <p class="id">{requestId}</p>}
      {next.length > 0 && (
        <ul>
          {next.map((text) => (
            <li>
              <WithCommands text={text} />
            </li>
          ))}
        </ul>
      )}
      {unmatched !== undefined && <p>{unmatched}</p>}
    </section>
  )
}

function Further({ pasted, found: { looked, further } }: { pasted: string; found: LookedUp }) {
  if (!further) {
    const isMessageId = looked.some(({ kind, targets }) => /messageId/i.test(kind) && targets.length === 0)
    return isMessageId ? <p>No send has it as its provider message id.</p> : null
  }
  return (
    <form method="post" action="/support">
      <p>
        There is no index for the message ids of providers. Searched all sends back to{' '}
        <Moment at={further.lookedBackTo} />.
      </p>
      <input type="hidden" name="q" value={pasted} />
      <input type="hidden" name="after" value={writeCursor(further.after)} />
      <button type="submit">Search further back</button>
    </form>
  )
}
