import { balancers } from '../../../../src/api/listen.ts'
import { stopWithinMs } from '../../../../src/platform/process.ts'
import { answerWithinMs } from '../../../../src/platform/readiness.ts'
import { defaultStalledAfterSeconds } from '../../../../workers/upkeep/wake-up-flow.ts'
import { quotes, seconds } from './quote.ts'

quotes('reference/processes', [
  `| API | ${seconds(stopWithinMs.api)} |`,
  `| worker | ${seconds(stopWithinMs.worker)} |`,
  `| admin | ${seconds(stopWithinMs.admin)} |`,
  `Large bodies that still wait after ${seconds(stopWithinMs.api)} are cut off`,
  `A call that isn't finished after ${seconds(stopWithinMs.worker)},`,
  `\`/readyz\` was asked within the last ${seconds(balancers.askWithinMs)}, the API accepts connections for another ${seconds(balancers.noticeWithinMs)}`,
  `PostgreSQL answers within ${seconds(answerWithinMs)}`,
  `it got no wake-up for ${defaultStalledAfterSeconds} s`,
])
