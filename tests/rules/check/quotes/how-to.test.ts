import { maxLookedAt } from '../../../../db/sends/list.ts'
import { replaysPerSecond } from '../../../../db/sends/replays.ts'
import { maxOfList } from '../../../../src/admin/sends/change-list.ts'
import { pageSize } from '../../../../src/admin/sends/routes.tsx'
import { refreshSeconds } from '../../../../src/admin/support/routes.tsx'
import { figures, grouped } from './quote.ts'

figures('how-to/replay', { 'Replaying a set': [`${replaysPerSecond}`] })

figures('how-to/find-a-send', {
  'Lists of sends': [`${pageSize}`, grouped(maxLookedAt), grouped(maxOfList)],
  'The page of a send': [`${refreshSeconds} s`],
})
