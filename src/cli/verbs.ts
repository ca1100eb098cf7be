import type { Command } from 'commander'
import type { Answerer } from './answer.ts'

/** `whole` builds the program with the commands of all verbs. */
type AddCommands = (program: Command, answer: Answerer, whole: () => Promise<Command>) => void

interface Verb {
  description: string
  /** The module is loaded when the verb is called, so that a command doesn't wait for the code of all others. */
  load(): Promise<AddCommands>
}

/** Each first word of a command line. */
export const verbs: Record<string, Verb> = {
  account: {
    description: 'accounts, which own channels, keys and sends',
    load: async () => (await import('./account.ts')).accountCommands,
  },
  key: {
    description: 'API keys of an account',
    load: async () => (await import('./key.ts')).keyCommands,
  },
  channel: {
    description: "channels: an account's connections to providers",
    load: async () => (await import('./channel.ts')).channelCommands,
  },
  explain: {
    description: 'what would become of a message, without sending it',
    load: async () => (await import('./explain.ts')).explainCommand,
  },
  usage: {
    description: 'how many messages an account sent, by month, day and channel',
    load: async () => (await import('./usage.ts')).usageCommands,
  },
  provider: {
    description: 'providers that files describe: check one, try it, set it',
    load: async () => (await import('./provider.ts')).providerCommands,
  },
  flow: {
    description: 'flows, which sends can be assigned to',
    load: async () => (await import('./flow.ts')).flowCommands,
  },
  conversation: {
    description: "an account's threads with its contacts",
    load: async () => (await import('./conversation.ts')).conversationCommands,
  },
  template: {
    description: 'templates registered with a channel',
    load: async () => (await import('./template.ts')).templateCommands,
  },
  contact: {
    description: "an account's contacts",
    load: async () => (await import('./contact.ts')).contactCommands,
  },
  credentials: {
    description: "encryption of the channels' configs and the endpoints' secrets",
    load: async () => (await import('./credentials.ts')).credentialsCommands,
  },
  receipts: {
    description: 'what providers report about messages',
    load: async () => (await import('./receipts.ts')).receiptCommands,
  },
  endpoint: {
    description: 'endpoints: where an account gets callbacks about its sends',
    load: async () => (await import('./endpoint.ts')).endpointCommands,
  },
  callback: {
    description: 'callbacks: the calls to endpoints',
    load: async () => (await import('./callback.ts')).callbackCommands,
  },
  suppression: {
    description: 'suppressed contacts of an account',
    load: async () => (await import('./suppression.ts')).suppressionCommands,
  },
  'admin-user': {
    description: 'people who may sign in to the admin pages',
    load: async () => (await import('./admin-user.ts')).adminUserCommands,
  },
  trace: {
    description: "show a send's status and timeline, and explain them",
    load: async () => (await import('./trace.ts')).traceCommand,
  },
  replay: {
    description: 'send a failed or uncertain send again, or a set of them',
    load: async () => (await import('./replay.ts')).replayCommand,
  },
  cancel: {
    description: 'cancel a send that waits, or a set of them: their providers are not called any more',
    load: async () => (await import('./cancel.ts')).cancelCommand,
  },
  settle: {
    description: 'end an uncertain send as it was found at the provider',
    load: async () => (await import('./settle.ts')).settleCommand,
  },
  audit: {
    description: 'who changed what, and when',
    load: async () => (await import('./audit.ts')).auditCommands,
  },
  export: {
    description: 'print the installation as a file, without its secrets and API keys',
    load: async () => (await import('./installation.ts')).exportCommand,
  },
  apply: {
    description: 'make the installation what a file says',
    load: async () => (await import('./installation.ts')).applyCommand,
  },
  completion: {
    description: 'print a script that completes commands in bash or zsh',
    load: async () => (await import('./completion.ts')).completionCommand,
  },
}
