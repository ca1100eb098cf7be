import { noPermitsForMs } from '../../../../src/core/sends/delivery-times.ts'
import { callsAtATime } from '../../../../workers/call-back.ts'
import { workerTimes } from '../../../../workers/worker-times.ts'
import { figures, seconds } from './quote.ts'

const { reconcileEveryMs, reconcileAgainAfterMs, overdueByMs, lookAgainMs } = workerTimes

figures('explanation/wake-ups', {
  '': [seconds(reconcileEveryMs), seconds(reconcileAgainAfterMs), `${noPermitsForMs} ms`],
  'How an endpoint is woken': [
    seconds(reconcileEveryMs),
    seconds(overdueByMs),
    seconds(lookAgainMs),
    `${callsAtATime} calls`,
  ],
})
