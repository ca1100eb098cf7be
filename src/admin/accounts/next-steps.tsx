import type { SetUpProgress } from '../../../db/overview/accounts.ts'

interface Step {
  isDone: boolean
  name: string
  /** Where it is done; undefined while an earlier step has to come first. */
  href?: string | undefined
}

/** The way of a new account, from its channel to its first send. Nothing once it has sent. */
export function NextSteps({ accountId, progress }: { accountId: string; progress: SetUpProgress }) {
  const { channelId, isTried, hasKey, hasSent } = progress
  if (hasSent && hasKey) return null
  const steps: Step[] = [
    { isDone: channelId !== null, name: 'Create a channel', href: `/channels/new?accountId=${accountId}` },
    {
      isDone: isTried,
      name: 'Try the channel with a contact of your own',
      href: channelId === null ? undefined : `/channels/${channelId}/try`,
    },
    { isDone: hasKey, name: 'Create an API key for the client', href: `/accounts/${accountId}/keys/new` },
    { isDone: hasSent, name: "See the client's first send", href: `/sends?accountId=${accountId}` },
  ]
  return (
    <section class="verdict" aria-labelledby="next">
      <h2 id="next">What is next</h2>
      <ol>
        {steps.map(({ isDone, name, href }) => (
          <li>
            {isDone ? (
              <>
                {name} <span class="state sent">done</span>
              </>
            ) : href === undefined ? (
              name
            ) : (
              <a href={href}>{name}</a>
            )}
          </li>
        ))}
      </ol>
    </section>
  )
}
