import type { Context } from 'hono'
import type { z } from 'zod'
import type { Reservation } from '../../platform/memory/memory-budget.ts'
import type { Settings } from '../../platform/settings/settings.ts'
import type { ApiEnv } from '../context.ts'
import type { ClientTimeouts } from '../http/client-timeouts.ts'
import { refuseEncoded, refuseOtherType } from './body-headers.ts'
import { smallBytes } from './large/large-bodies.ts'
import { parseBytes } from './parse-body.ts'
import { joined } from './pieces.ts'
import { refuseDeclaredOversize } from './read-body.ts'
import { receive } from './receive.ts'
import { refusal } from './validate.ts'

export type SmallBodies = ReturnType<typeof smallBodies>

/** Bodies of all routes but those of sends: so small that they need no memory budget and no thread. */
export function smallBodies({ MAX_BODY_BYTES }: Pick<Settings, 'MAX_BODY_BYTES'>, timeouts: ClientTimeouts) {
  const maxBytes = Math.min(MAX_BODY_BYTES, smallBytes)
  return {
    maxBytes,
    refuseDeclaredOversize: refuseDeclaredOversize(maxBytes),
    /** Receives a body that says nothing. */
    async skip(c: Context<ApiEnv>): Promise<void> {
      await receive(c.env.incoming, maxBytes, timeouts, unneeded)
    },
    /**
     * Reads and parses the body.
     *
     * @param whenAbsent what an absent body stands for, if it may be absent.
     * @throws ApiError 400 that names every faulty field.
     */
    async read<Data>(c: Context<ApiEnv>, schema: z.ZodType<Data>, whenAbsent?: object): Promise<Data> {
      const { incoming } = c.env
      const { headers } = incoming
      const isAbsent =
        Number(headers['content-length'] ?? 0) === 0 && headers['transfer-encoding'] === undefined
      if (isAbsent && whenAbsent) return schema.parse(whenAbsent)
      refuseOtherType(headers['content-type'])
      refuseEncoded(headers)
      const body = joined(await receive(incoming, maxBytes, timeouts, unneeded))
      c.set('body', [body])
      if (body.length === 0 && whenAbsent) return schema.parse(whenAbsent)
      const parsed = parseBytes(body, schema)
      if ('issue' in parsed) throw refusal(parsed)
      return parsed.data
    },
  }
}

/** A small body is received without a memory budget. */
const unneeded: Reservation = { reserve: async () => () => {}, release() {} }
