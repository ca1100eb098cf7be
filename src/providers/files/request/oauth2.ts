import { fieldsOf, parseJson, wordOf } from '../../../core/receipts/receipt-request.ts'
import type { TokenGrant } from '../../shared/http/http-call.ts'
import type { Oauth2Form } from '../form/request.ts'
import type { FileConfig } from './holes.ts'

/** Longer ones would not fit into the header of a request. */
const tokenForm = /^[!-~]{1,8192}$/

/** How a file's access tokens are fetched: client credentials of OAuth 2 (RFC 6749, 4.4). */
export function tokenGrant(form: Oauth2Form): TokenGrant<FileConfig> {
  const { clientId, clientSecret, scope, audience, credentials } = form
  return {
    request(config) {
      const { tokenUrl = form.tokenUrl } = config
      const [id = '', secret = ''] = [config[clientId], config[clientSecret]]
      const body = new URLSearchParams({
        grant_type: 'client_credentials',
        ...(scope !== undefined && { scope }),
        ...(audience !== undefined && { audience }),
        ...(credentials === 'body' && { client_id: id, client_secret: secret }),
      })
      return {
        url: tokenUrl,
        headers: {
          'content-type': 'application/x-www-form-urlencoded',
          accept: 'application/json',
          ...(credentials === 'basic' && { authorization: `Basic ${login(id, secret)}` }),
        },
        body: body.toString(),
      }
    },
    read({ body }) {
      const { access_token: token, expires_in, error } = fieldsOf(parseJson(body))
      const seconds = Number(wordOf(expires_in))
      return {
        ...(typeof token === 'string' && tokenForm.test(token) && { token }),
        ...(Number.isFinite(seconds) && seconds > 0 && { validMs: seconds * 1000 }),
        ...(typeof error === 'string' && { error }),
      }
    },
  }
}

/** Each part is encoded before (RFC 6749, 2.3.1). */
const login = (id: string, secret: string) =>
  Buffer.from(`${encodeURIComponent(id)}:${encodeURIComponent(secret)}`).toString('base64')
