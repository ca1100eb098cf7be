import { channelsOfProvider, removeFile, setFile } from '../../db/accounts/provider-files.ts'
import { audited } from '../../db/audit/record.ts'
import type { Transaction } from '../../db/connection/client.ts'
import { openConfig } from '../core/channels/sealed-config.ts'
import { describeIssue, describeIssues } from '../core/requests/issues.ts'
import { credentialsKeys } from '../platform/settings/settings.ts'
import type { CompiledFile } from '../providers/files/compile.ts'
import { isCoded } from '../providers/known.ts'
import type { ConfigKeys } from './channels/fallbacks.ts'
import type { Making } from './making.ts'
import { SetupFault } from './setup-fault.ts'

/** Makes a file that was checked a provider, or replaces it. @throws SetupFault if its name or a channel forbids it. */
export async function setProviderFile(
  { db, actor }: Making,
  { content, file }: { content: string; file: CompiledFile },
  keys: () => ConfigKeys,
): Promise<void> {
  const { form, hash } = file
  const { name } = form
  if (isCoded(name)) throw new SetupFault('provider', `${name} is built in: give your provider another name`)
  await audited(
    db,
    async (transaction) => {
      await setFile(transaction, { name, content, hash })
      await checkConfigs(transaction, file, keys)
    },
    () => ({ ...actor, action: 'provider.set', target: name, details: { hash } }),
  )
}

/** The configs of the channels that use the file have to fit its new version: else their sends would find no config. */
async function checkConfigs(
  transaction: Transaction,
  { form: { name }, provider }: CompiledFile,
  keys: () => ConfigKeys,
): Promise<void> {
  for (const { channelId, sealedConfig } of await channelsOfProvider(transaction, name)) {
    const parsed = provider.config.safeParse(openConfig(sealedConfig, channelId, credentialsKeys(keys())), {
      error: describeIssue,
    })
    if (!parsed.success)
      throw new SetupFault(
        'provider',
        `The config of channel ${channelId} does not fit this file: ${describeIssues(parsed.error.issues)}. Change the config or the file, or use another name for the file`,
      )
  }
}

/** Removes a file that was set. @returns whether it was there. @throws SetupFault while a channel uses it. */
export async function removeProviderFile({ db, actor }: Making, name: string): Promise<boolean> {
  return await audited(
    db,
    async (transaction) => {
      const wasThere = await removeFile(transaction, name)
      const [used] = wasThere ? await channelsOfProvider(transaction, name) : []
      if (used)
        throw new SetupFault(
          'provider',
          `Channel ${used.channelId} uses ${name}: delete the channel first, or set another file of this name`,
        )
      return wasThere
    },
    (wasThere) => wasThere && { ...actor, action: 'provider.remove', target: name },
  )
}
