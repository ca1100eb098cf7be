import type { LookedUp, LookedUpKind } from '../../../db/look-up/look-up.ts'
import type { Target, TargetKind } from '../../../db/look-up/targets.ts'
import { maskContact, parseContact } from '../../core/contact.ts'
import { writeCursor } from '../../core/list-query.ts'
import type { CodeMeaning } from '../../core/pasted/codes.ts'
import { type PastedKindName, pastedKinds } from '../../core/pasted/recognise.ts'
import { explainUnknownId, type UnknownIdFacts } from '../../core/request-id.ts'
import { Moment, WithCommands } from '../inline-elements.tsx'
import { Layout } from '../layout.tsx'
import { linkTo } from '../links.ts'
import { FindBox } from './find-box.tsx'

interface FoundPageProps {
  pasted: string
  found: LookedUp
  facts: UnknownIdFacts
}

/** What a pasted text may mean: several things, a code, or nothing that is there. */
export function FoundPage({ pasted, found, facts }: FoundPageProps) {
  const targets = targetsOf(found)
  return (
    <Layout title="Found" at="/support">
      <FindBox pasted={pasted} focused />
      {targets.length > 0 && <Targets targets={targets} looked={found.looked} />}
      {targets.length === 0 && found.codes.length > 0 && <h1>{`What ${found.codes[0]?.code} means`}</h1>}
      {found.codes.length > 0 && <Codes codes={found.codes} />}
      {targets.length === 0 && found.codes.length === 0 && <Nothing {...{ pasted, found, facts }} />}
      {isInVain(found) && (targets.length > 0 || found.codes.length > 0) && (
        <p class="muted">
          <InVain looked={found.looked} />
        </p>
      )}
      <Further pasted={pasted} found={found} />
      <p>
        <a href="/sends">All sends, by account, channel, state or time</a>
      </p>
    </Layout>
  )
}

export const targetsOf = ({ looked }: LookedUp): Target[] => looked.flatMap(({ targets }) => targets)

/** Whether the page answers what was asked: that a contact got nothing is an answer, too. */
export const isAnswer = (found: LookedUp): boolean =>
  targetsOf(found).length > 0 ||
  found.codes.length > 0 ||
  found.looked.some(({ kind }) => kind === 'phone' || kind === 'email')

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
  const kinds = looked.filter(({ targets: theirs }) => theirs.length > 0)
  return (
    <section aria-labelledby="found">
      <h1 id="found">{targets.length === 1 ? 'Found one thing' : `Found ${targets.length} things`}</h1>
      <p>Recognised: {kinds.map(withValues).join('; ')}.</p>
      <div class="scroll">
        <table>
          <thead>
            <tr>
              <th scope="col">What</th>
              <th scope="col">Account</th>
              <th scope="col">Id</th>
            </tr>
          </thead>
          <tbody>
            {targets.map((target) => (
              <tr>
                <td>
                  {kindWords[target.kind]} {target.name}
                </td>
                <td>{target.accountName}</td>
                <td class="id">
                  <a href={linkTo(target)}>{target.id}</a>
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
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

/** Values that show a contact are masked: the box has what was pasted. */
function withValues({ kind, values }: Pick<LookedUpKind, 'kind' | 'values'>): string {
  const isGuess = kind === 'reference' || kind === 'name' || kind === 'possibleMessageId'
  if (isGuess) return pastedKinds[kind].called
  const shown = values.slice(0, shownValues).map((value) => {
    const contact = kind === 'messageId' ? undefined : parseContact(value)
    return contact ? maskContact(contact) : value
  })
  const more = values.length > shownValues ? ` and ${values.length - shownValues} more` : ''
  return `${pastedKinds[kind].called} ${shown.join(', ')}${more}`
}

const shownValues = 5

const isInVain = ({ looked }: LookedUp) => looked.some(({ targets }) => targets.length === 0)

function InVain({ looked }: { looked: readonly LookedUpKind[] }) {
  const inVain = looked.filter(({ targets }) => targets.length === 0)
  return <>Looked for in vain: {[...new Set(inVain.map(withValues))].join('; ')}.</>
}

const ofIds: readonly PastedKindName[] = ['requestId', 'id', 'namedId']
const sentenceEnd = /(?<=\.) /

/** Possible reasons, and where to look next. */
function Nothing({ pasted, found, facts }: FoundPageProps) {
  const { looked, localNumbers } = found
  const contacts = looked.filter(({ kind }) => kind === 'phone' || kind === 'email')
  const hasId = looked.some(({ kind }) => ofIds.includes(kind))
  const isOfContact = !hasId && (contacts.length > 0 || localNumbers.length > 0)
  const unknown = isOfContact ? undefined : explainUnknownId(pasted, facts)
  const [first, ...rest] = unknown
    ? unknown.why.split(sentenceEnd)
    : [contactWords(localNumbers, contacts.length)]
  return (
    <section class="verdict unsure">
      <h1>{first}</h1>
      {rest.length > 0 && <p>{rest.join(' ')}</p>}
      {unknown?.requestId !== undefined && <p class="id">{unknown.requestId}</p>}
      {unknown !== undefined && unknown.next.length > 0 && (
        <ul>
          {unknown.next.map((text) => (
            <li>
              <WithCommands text={text} />
            </li>
          ))}
        </ul>
      )}
      {looked.length > 0 && (
        <p>
          <InVain looked={looked} />
        </p>
      )}
    </section>
  )
}

function contactWords(localNumbers: readonly string[], contacts: number): string {
  if (contacts > 0)
    return 'No send found. No account has sent this contact anything, or has it on its list of suppressions.'
  return `${localNumbers[0]} has no country code. Paste it with the country code, such as +49 151 12345678.`
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
