import { ReasonField } from '../page/reason.tsx'

/** Enables or disables an endpoint, as `outbound endpoint enable` and `disable` do. */
export function SwitchForm({ endpointId, disabledAt }: { endpointId: string; disabledAt: Date | null }) {
  return (
    <section aria-labelledby="change">
      <h2 id="change">{disabledAt ? 'Enable the endpoint' : 'Disable the endpoint'}</h2>
      <p>
        {disabledAt
          ? 'All callbacks that were kept are sent, in order.'
          : 'Calls stop. New and waiting callbacks are kept until it is enabled.'}
      </p>
      <form
        class="inline"
        method="post"
        action={`/endpoints/${endpointId}/${disabledAt ? 'enable' : 'disable'}`}
      >
        {!disabledAt && <ReasonField />}
        <button type="submit" class={disabledAt ? 'main' : 'danger'}>
          {disabledAt ? 'Enable' : 'Disable'}
        </button>
      </form>
    </section>
  )
}
