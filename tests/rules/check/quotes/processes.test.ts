import { balancers } from '../../../../src/api/http/listen.ts'
import { answerWithinMs } from '../../../../src/platform/health/database-health.ts'
import { stopWithinMs } from '../../../../src/platform/process/process.ts'
import { defaultStalledAfterSeconds } from '../../../../workers/queue/wake-up-flow.ts'
import { figures, seconds } from './quote.ts'

figures('reference/processes', {
  Health: [seconds(answerWithinMs), `${defaultStalledAfterSeconds} s`],
  Shutdown: [
    ...Object.values(stopWithinMs).map(seconds),
    seconds(balancers.askWithinMs),
    seconds(balancers.noticeWithinMs),
  ],
})
