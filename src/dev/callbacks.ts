import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { Webhook } from 'standardwebhooks'
import { v7 as uuidv7 } from 'uuid'
import { listAccounts } from '../../db/accounts/accounts.ts'
import { createEndpoint, deleteEndpoint } from '../../db/callbacks/endpoints.ts'
import { connectDatabase } from '../../db/connection/client.ts'
import { findRunningDev } from '../cli/running-dev.ts'
import { mintSealedSecret } from '../core/callbacks/callback.ts'
import { runProcess } from '../platform/process/process.ts'
import { readSettings, SettingsError } from '../platform/settings/settings.ts'

/** `npm run callbacks`: a receiver for the account of the running `npm run dev`, which verifies and prints each callback. */
await runProcess(async () => {
  const dev = await findRunningDev()
  if (!dev)
    throw new SettingsError('npm run dev is not running here: start it in another terminal, then this.')
  const settings = readSettings(['DATABASE_URL', 'CREDENTIALS_KEY'], dev.environment)
  const db = connectDatabase(settings.DATABASE_URL, {
    poolSize: 1,
    queryTimeoutMs: 10_000,
    onConnectionLost: () => {},
  })
  const [account] = await listAccounts(db)
  if (!account) throw new SettingsError('There is no account yet: start npm run dev once more.')

  const id = uuidv7()
  const { secret, sealedSecret } = mintSealedSecret(id, settings.CREDENTIALS_KEY)
  const webhook = new Webhook(secret)
  const server = createServer(async (request, response) => {
    try {
      const body = Buffer.concat(await request.toArray())
      const callback = webhook.verify(body, request.headers as Record<string, string>) as Callback
      console.log(lineOf(callback))
      response.end()
    } catch (error) {
      console.log(`refused: ${(error as Error).message}`)
      response.writeHead(401).end()
    }
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/callbacks`
  const endpoint = { id, accountId: account.accountId, url, events: null, sealedSecret }
  if ((await createEndpoint(db, endpoint)) !== 'created')
    throw new SettingsError(
      `The account has too many endpoints: outbound endpoint list --account ${account.accountId}`,
    )
  console.log(
    `The endpoint ${id} gets a callback about each change of a send of ${account.name}. Send a message; Ctrl-C ends this.\n`,
  )
  let isStopping = false
  const stop = async () => {
    if (isStopping) return
    isStopping = true
    await deleteEndpoint(db, id).catch((error: Error) => {
      console.error(`The endpoint could not be deleted (${error.message}): outbound endpoint delete ${id}`)
      process.exitCode = 1
    })
    process.exit()
  }
  // Not only once: one Ctrl-C arrives twice, and the second one must not end the deletion.
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => void stop())
})

interface Callback {
  type: string
  /** Empty for a test, which has the endpoint alone. */
  data: { requestId?: string; sequence?: number; status?: string; delivery?: string | null }
}

function lineOf({ type, data: { requestId, sequence, status, delivery } }: Callback): string {
  if (requestId === undefined) return type
  return `${type}  ${requestId}  sequence ${sequence}, status ${status}${delivery ? `, ${delivery}` : ''}`
}
