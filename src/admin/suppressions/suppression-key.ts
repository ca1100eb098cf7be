import { noSuppressionKey, suppressionKey } from '../../core/suppression/suppression.ts'
import type { AdminSettings } from '../../platform/settings/settings.ts'

/**
 * The key of the hashes of erased contacts. Without the pepper, it is one that finds no erased entry: then that entry isn't shown for
 * its contact, and stays in force.
 */
export const suppressionKeyOf = ({ API_KEY_PEPPER }: Pick<AdminSettings, 'API_KEY_PEPPER'>): Buffer =>
  API_KEY_PEPPER === undefined ? noSuppressionKey : suppressionKey(API_KEY_PEPPER)
