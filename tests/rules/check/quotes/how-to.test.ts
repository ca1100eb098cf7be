import { replaysPerSecond } from '../../../../db/support/replays.ts'
import { maxLookedAt, pageSize } from '../../../../db/support/search.ts'
import { refreshSeconds } from '../../../../src/admin/support/routes.tsx'
import { grouped, quotes } from './quote.ts'

quotes('how-to/replay', [`${replaysPerSecond} become due each second`])

quotes('how-to/find-a-send', [
  `The newest come first, ${pageSize} to a page`,
  `a page looks at ${grouped(maxLookedAt)} sends at most`,
  `the page updates every ${refreshSeconds} s`,
])
