import { join } from 'node:path'
import { type Binary, debianBinary } from './debian-binary.ts'

export type { Binary }

const fontsFile = join(import.meta.dirname, 'fonts.conf')
/** Not the script in `usr/bin`, which works only if the package is installed. */
const path = 'usr/lib/chromium/chromium'

/** A browser for the tests of pages: `CHROMIUM`, else an installed or downloaded one, with fonts. */
export async function chromiumBinary(): Promise<Binary> {
  if (process.env.CHROMIUM) return { file: process.env.CHROMIUM, env: {} }
  const { file, env } = await debianBinary({
    what: 'Chromium',
    names: ['chromium', 'chromium-browser', 'google-chrome-stable'],
    path,
    package: { choices: [['chromium', 'chromium-common']], withDependencies: true },
    advice: 'set CHROMIUM to a Chromium or Chrome.',
  })
  if (!file.endsWith(path)) return { file, env }
  const folder = file.slice(0, -path.length)
  return { file, env: { ...env, FONTCONFIG_FILE: fontsFile, XDG_DATA_HOME: join(folder, 'usr/share') } }
}
