import type { Channel } from '../../../db/accounts/channels.ts'
import { findTemplate } from '../../../db/accounts/templates.ts'
import type { Message } from '../../core/messages/message.ts'
import { templateIssues } from '../../core/messages/template.ts'
import { joinIssues } from '../../core/requests/issues.ts'
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
    const { name, variables } = message.template
    const definition = await deadline.spend(findTemplate(db, channel.channelId, name))
    const { template: rules } = providerOf(channel.provider)
    const nameIssue = definition ? undefined : rules.unregisteredIssue?.(name)
    if (nameIssue) throw new ApiError('invalid_template', `message.template.name: ${nameIssue}`)
    const issues = templateIssues(rules, { variables }, definition)
    if (issues.length > 0) {
      const issue = joinIssues(issues)
      // The log gets the template's own keys only: others are text of the client.
      const needed = definition && rules.variablesOf(definition)
      const areKnown = needed && variables.every(({ key }) => needed.includes(key))
      const reason = areKnown ? issue : 'message.template.variables: not those of the template'
      throw new ApiError('invalid_template', issue, {}, reason)
    }
    return definition ? { ...message, template: { name, variables, definition } } : message
  }
}
