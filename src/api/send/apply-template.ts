import type { Channel } from '../../../db/accounts/channels.ts'
import { findTemplate } from '../../../db/accounts/templates.ts'
import type { Message } from '../../core/messages/message.ts'
import { withDefinition } from '../../core/messages/template.ts'
import { providerOf } from '../../providers/known.ts'
import type { Needs } from '../../runtime.ts'
import type { RequestState } from '../context.ts'
import { ApiError } from '../errors.ts'

/**
 * Checks a template's variables against its registration with the channel, and stores the current definition with the message
 * (docs/reference/api.md#templates). An unregistered template passes unchanged if the provider accepts it.
 */
export function createApplyTemplate({ db }: Needs<'db'>) {
  return async (
    { deadline }: Pick<RequestState, 'deadline'>,
    message: Message,
    channel: Channel,
  ): Promise<Message> => {
    if (message.type !== 'template') return message
    const definition = await deadline.spend(findTemplate(db, channel.channelId, message.template.name))
    const applied = withDefinition(providerOf(channel.provider).template, message, definition)
    if ('issue' in applied) throw new ApiError('invalid_template', applied.issue, {}, applied.reason)
    return applied
  }
}
