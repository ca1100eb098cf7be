import type { ShownCallback } from '../../../db/callbacks/shown-callbacks.ts'
import { testType } from '../../core/callbacks/callback.ts'
import type { CallbackTry } from '../../core/callbacks/callback-outcome.ts'
import { tableRows } from '../page/each-shown.tsx'
import { Moment } from '../page/inline-elements.tsx'

/** Its path and query may hold secrets. */
export const hostOf = (url: string) => URL.parse(url)?.host ?? 'no URL'

/** Callbacks with their tries, and when the next one is. */
export function CallbackTable({
  callbacks,
  of,
}: {
  callbacks: readonly ShownCallback[]
  of: 'send' | 'endpoint'
}) {
  return (
    <div class="scroll">
      <table>
        <thead>
          <tr>
            <th scope="col">{of === 'send' ? 'Endpoint' : 'Send'}</th>
            <th scope="col">Change</th>
            <th scope="col">State</th>
            <th scope="col">Tries</th>
          </tr>
        </thead>
        <tbody>
          {tableRows(4, {
            rows: callbacks,
            idOf: ({ requestId, sequence }) => `${requestId} ${sequence}`,
            render: (callback) => (
              <tr>
                <td>
                  <About of={of} {...callback} />
                </td>
                <td>
                  {callback.sequence} {callback.type}{' '}
                  <span class="muted">
                    <Moment at={callback.createdAt} />
                  </span>
                </td>
                <td>
                  <CallbackState {...callback} />
                </td>
                <td>
                  <Tries tries={callback.tries} />
                </td>
              </tr>
            ),
          })}
        </tbody>
      </table>
    </div>
  )
}

function About({ of, type, endpointId, url, requestId }: ShownCallback & { of: 'send' | 'endpoint' }) {
  if (of === 'send') return <a href={`/endpoints/${endpointId}`}>{hostOf(url)}</a>
  // The id of a test is that of no send.
  if (type === testType) return <span class="id">{requestId}</span>
  return (
    <a href={`/support/${requestId}/callbacks`} class="id">
      {requestId}
    </a>
  )
}

function CallbackState({ finishedAt, givenUp, isDisabled, isBehind, tried, nextTryAt }: ShownCallback) {
  if (givenUp) return <>given up</>
  if (finishedAt) return <>delivered</>
  if (isDisabled) return <>kept: the endpoint is disabled</>
  if (isBehind) return <>waits for the one before it</>
  if (nextTryAt.getTime() <= Date.now())
    return <>{tried === 0 ? 'about to be sent' : 'about to be tried again'}</>
  return (
    <>
      next try <Moment at={nextTryAt} />
    </>
  )
}

function Tries({ tries }: { tries: readonly CallbackTry[] }) {
  if (tries.length === 0) return <span class="muted">none</span>
  return (
    <ol>
      {tries.map(({ at, status, reason, durationMs }) => (
        <li>
          <Moment at={at} /> {status ?? reason} <span class="muted">{durationMs} ms</span>
        </li>
      ))}
    </ol>
  )
}
