import { fallbackCauses } from '../../../core/sends/fallback.ts'
import { orderings } from '../../../core/sends/lane.ts'
import { onUncertainWords } from '../../../core/sends/outcome.ts'
import { priorities } from '../../../core/sends/priority.ts'
import { autoCauses } from '../../../core/suppression/suppression.ts'
import type { Provider } from '../../../providers/define-provider.ts'
import { Checks, Choice, TextField } from '../../page/fields.tsx'
import { ceilingHint } from '../../page/setting-words.ts'
import type { FieldIssues, Typed } from '../../page/typed-form.ts'

export interface RulesProps {
  rules: Provider
  typed: Typed
  issues: FieldIssues
  /** The account's other channels, to fall back to. */
  others: readonly { channelId: string; name: string }[]
}

const named = <Word extends string>(words: readonly Word[]) => words.map((word) => [word, word] as const)

/** How a channel sends: what `outbound channel update` has as options. */
export function RulesSections({ rules, typed, issues, others }: RulesProps) {
  const of = (name: string) => ({ name, value: typed[name], issue: issues[name] })
  return (
    <>
      <section aria-labelledby="limits">
        <h2 id="limits">Limits</h2>
        <div class="fields">
          <TextField
            {...of('rate')}
            label="Rate"
            hint="Calls in a number of seconds, such as 80/1. Empty: no limit"
          />
          <TextField {...of('maxInFlight')} label="Calls at a time" hint="At most so many. Empty: no limit" />
          <TextField
            {...of('expireAfter')}
            label="Sends expire after"
            hint="Seconds of waiting. Empty: they never expire"
          />
          <TextField {...of('ceiling')} label="Ceilings" hint={ceilingHint} />
          {rules.contactTypes.includes('phone') && (
            <TextField
              {...of('countries')}
              label="Countries"
              hint="It sends to numbers of these alone, such as DE,AT,CH. Empty: all"
            />
          )}
          <Choice
            {...of('onUncertain')}
            label="After an uncertain call"
            options={onUncertainWords.map((word) => [word, uncertainWords[word]] as const)}
            none={null}
          />
          <Choice
            {...of('ordering')}
            label="Order"
            options={orderings.map((word) => [word, orderingWords[word]] as const)}
            none={null}
          />
        </div>
      </section>
      <section aria-labelledby="contacts">
        <h2 id="contacts">Contacts</h2>
        <div class="fields">
          <Checks {...of('autoSuppress')} label="Suppress a contact after" options={named(autoCauses)} />
          {rules.mail && (
            <Choice
              {...of('oneClick')}
              label="Unsubscribe with one click"
              options={['on', 'off']}
              none={null}
              hint="Whether its mails have an address for it"
            />
          )}
          <TextField
            {...of('quietHours')}
            label="Quiet hours"
            hint="Sends that are due between these local times wait, such as 21:00-08:00. Empty: none"
          />
          <TextField
            {...of('quietZone')}
            label="Whose local time"
            hint="contact: that of the phone number; a zone such as Europe/Berlin; or both, such as contact,Europe/Berlin"
          />
          <Checks {...of('quietFor')} label="What waits in quiet hours" options={named(priorities)} />
        </div>
      </section>
      <section aria-labelledby="fallback-of">
        <h2 id="fallback-of">Fallback</h2>
        {others.length === 0 ? (
          <p class="muted">The account has no other channel to fall back to.</p>
        ) : (
          <div class="fields">
            <Choice
              {...of('fallback')}
              label="Sends go on by"
              options={others.map(({ channelId, name }) => [channelId, name] as const)}
              none="no other channel"
            />
            <Checks {...of('fallbackOn')} label="After they" options={named(fallbackCauses)} />
            <TextField
              {...of('fallbackWithin')}
              label="No later than"
              hint="Seconds after the accept. Empty: 3600"
            />
          </div>
        )}
      </section>
    </>
  )
}

const uncertainWords = { resend: 'call again: it may arrive twice', hold: 'leave it: a person decides' }
const orderingWords = {
  contact: 'each contact in the order of the accepts',
  none: 'each as soon as possible',
}
