import type { Context } from 'hono'
import {
  longestOperatorReason as longest,
  operatorReason,
  operatorReasonForm,
} from '../../core/sends/own-reasons.ts'
import { PageError } from '../errors.tsx'
import { fieldsOf } from '../support/form-fields.ts'

/** Asks an operator why. */
export function ReasonField() {
  return (
    <p class="field">
      <label for="reason">Reason</label>
      <input id="reason" name="reason" type="text" maxlength={longest} required autocomplete="off" />
    </p>
  )
}

/** The typed text. */
export async function reasonOf(c: Context): Promise<string> {
  const { data } = operatorReason.safeParse(String((await fieldsOf(c)).reason ?? '').trim())
  if (data !== undefined) return data
  throw new PageError(400, `Reason: enter ${operatorReasonForm}.`)
}
