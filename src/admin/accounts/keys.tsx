import type { listApiKeys } from '../../../db/accounts/api-keys.ts'
import { type Permission, permissions } from '../../core/accounts/api-key.ts'
import { DataTable } from '../page/data-table.tsx'
import { Checks, TextField } from '../page/fields.tsx'
import { Moment } from '../page/inline-elements.tsx'
import { Layout } from '../page/layout.tsx'
import type { FieldIssues, Typed } from '../page/typed-form.ts'

type ListedKey = Awaited<ReturnType<typeof listApiKeys>>[number]

/** The API keys of an account: by their beginnings, since they are shown only once. */
export function Keys({ accountId, keys }: { accountId: string; keys: readonly ListedKey[] }) {
  return (
    <section aria-labelledby="keys">
      <div class="head">
        <h2 id="keys">API keys</h2>
        <a class="button" href={`/accounts/${accountId}/keys/new`}>
          New key
        </a>
      </div>
      {keys.length === 0 ? (
        <p class="muted">
          None yet. To replace a key, create another one, and revoke the former when nobody uses it.
        </p>
      ) : (
        <DataTable
          label="API keys"
          rows={keys}
          idOf={({ keyId }) => keyId}
          columns={[
            {
              name: 'Key',
              cell: ({ displayPrefix, permissions: may }) => (
                <>
                  <code>{displayPrefix}…</code>
                  <small class="below">{may.join(', ')}</small>
                </>
              ),
            },
            { name: 'State', cell: (key) => <KeyState {...key} /> },
            {
              name: 'Last used, about',
              cell: ({ lastUsedAt }) => (lastUsedAt ? <Moment at={lastUsedAt} short /> : 'never'),
            },
            {
              name: 'Revoke',
              cell: ({ keyId, displayPrefix, revokedAt }) =>
                revokedAt === null && (
                  <a
                    href={`/accounts/${accountId}/keys/${keyId}/revoke`}
                    aria-label={`Revoke ${displayPrefix}`}
                  >
                    Revoke…
                  </a>
                ),
            },
          ]}
        />
      )}
    </section>
  )
}

function KeyState({ revokedAt, expiresAt, createdAt }: ListedKey) {
  if (revokedAt)
    return (
      <>
        <span class="state canceled">revoked</span>
        <small class="below">
          <Moment at={revokedAt} short />
        </small>
      </>
    )
  const hasExpired = expiresAt !== null && expiresAt.getTime() < Date.now()
  return (
    <>
      <span class={`state ${hasExpired ? 'failed' : 'sent'}`}>{hasExpired ? 'expired' : 'valid'}</span>
      <small class="below">
        {expiresAt === null ? 'created ' : hasExpired ? 'since ' : 'until '}
        <Moment at={expiresAt ?? createdAt} short />
      </small>
    </>
  )
}

const permissionWords: Record<Permission, string> = {
  'messages:send': 'send messages',
  'messages:read': 'read their timelines',
  'messages:content': 'read their content',
  'endpoints:manage': 'manage endpoints of callbacks',
  'suppressions:manage': 'manage suppressions',
  'usage:read': 'read the usage',
}

interface NewKeyProps {
  account: { accountId: string; name: string }
  typed?: Typed
  issues?: FieldIssues
}

/** Asks for a new key, as `outbound key create` does. */
export function NewKeyPage({
  account: { accountId, name },
  typed = { permissions: 'messages:send,messages:read' },
  issues = {},
}: NewKeyProps) {
  return (
    <Layout title="New API key" at="/accounts">
      <h1>New API key of {name}</h1>
      <section aria-label="New API key">
        <form method="post" action={`/accounts/${accountId}/keys/new`} class="fields one">
          <Checks
            name="permissions"
            label="The client may"
            value={typed.permissions}
            issue={issues.permissions}
            options={permissions.map((permission) => [
              permission,
              <>
                {permissionWords[permission]} (<code>{permission}</code>)
              </>,
            ])}
          />
          <TextField
            name="expiresIn"
            label="Expires in"
            value={typed.expiresIn}
            hint="Such as 90d. Empty: never"
            issue={issues.expiresIn}
          />
          <p class="row">
            <button type="submit" class="main">
              Create key
            </button>
            <a class="button" href={`/accounts/${accountId}`}>
              Leave it
            </a>
          </p>
        </form>
      </section>
    </Layout>
  )
}

interface KeyShownProps extends NewKeyProps {
  apiKey: string
  /** A channel to send by; undefined if the account has none. */
  channelId: string | undefined
  baseUrl: string
}

/** Shows a new key, once. */
export function KeyShownPage({ account: { accountId, name }, apiKey, channelId, baseUrl }: KeyShownProps) {
  return (
    <Layout title="New API key" at="/accounts">
      <section class="verdict good">
        <h1>The key of {name}</h1>
        <p>Copy it now: it is not shown again.</p>
        <p class="copy">
          <code>{apiKey}</code>
        </p>
        {channelId !== undefined && (
          <>
            <p>A first send, to paste into a terminal:</p>
            <pre tabindex={0}>{curlOf({ apiKey, channelId, baseUrl })}</pre>
          </>
        )}
        <p class="row">
          <a class="button main" href={`/accounts/${accountId}`}>
            What is next
          </a>
        </p>
      </section>
    </Layout>
  )
}

const curlOf = ({ apiKey, channelId, baseUrl }: Record<'apiKey' | 'channelId' | 'baseUrl', string>) => {
  const body = {
    channelId,
    contact: { value: '+4915112345678' },
    message: { type: 'text', text: { value: 'Hello' } },
  }
  return `curl -sS ${baseUrl}/v1/messages \\
  -H 'Authorization: Bearer ${apiKey}' \\
  -H 'Content-Type: application/json' \\
  -d '${JSON.stringify(body)}'`
}

/** Asks before a key is revoked. */
export function RevokePage({
  account: { accountId, name },
  listed: { keyId, displayPrefix, lastUsedAt },
}: NewKeyProps & { listed: ListedKey }) {
  return (
    <Layout title="Revoke key" at="/accounts">
      <section class="verdict bad">
        <h1>Revoke the key {displayPrefix}…?</h1>
        <p>
          {name} can't use it any more, within 3 s. This can't be undone.{' '}
          {lastUsedAt ? (
            <>
              It was last used at about <Moment at={lastUsedAt} />.
            </>
          ) : (
            'No use of it is recorded.'
          )}
        </p>
        <form method="post" action={`/accounts/${accountId}/keys/${keyId}/revoke`}>
          <p class="row">
            <button type="submit" class="danger">
              Revoke
            </button>
            <a class="button" href={`/accounts/${accountId}`}>
              Leave it as it is
            </a>
          </p>
        </form>
      </section>
    </Layout>
  )
}
