import { replaysPerSecond } from '../../../../db/sends/replays.ts'
import { maxLookedAt, pageSize } from '../../../../db/sends/search.ts'
import { refreshSeconds } from '../../../../src/admin/support/routes.tsx'
import { figures, grouped } from './quote.ts'

figures('how-to/replay', { 'Replaying a set': [`${replaysPerSecond}`] })

figures('how-to/find-a-send', {
  Search: [`${pageSize}`, grouped(maxLookedAt)],
  'The page of a send': [`${refreshSeconds} s`],
})
