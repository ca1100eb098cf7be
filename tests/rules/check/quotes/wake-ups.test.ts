import { answeringForMinutes } from '../../../../db/callbacks/endpoint-claims.ts'
import { longestPutOffMs } from '../../../../src/core/callback-job.ts'
import { noPermitsForMs } from '../../../../src/core/delivery-times.ts'
import { callsAtATime } from '../../../../workers/callbacks/calls-of-claim.ts'
import { workerTimes } from '../../../../workers/worker-times.ts'
import { quotes, seconds } from './quote.ts'

const { reconcileEveryMs, reconcileAgainAfterMs, overdueByMs, putOffMs } = workerTimes

quotes('explanation/wake-ups', [
  `${seconds(reconcileEveryMs)} have passed since the reconciler's last pass, or ${seconds(reconcileAgainAfterMs)} since one that failed`,
  `${seconds(reconcileEveryMs)} have passed since the last pass of the endpoints' reconciler | each endpoint that has been due for ${seconds(overdueByMs)}`,
  `during the next ${noPermitsForMs} ms`,
  `makes up to ${callsAtATime} calls to it at a time`,
  `no call for ${answeringForMinutes} minutes`,
  `Its delay is ${putOffMs / 1000} to ${seconds(longestPutOffMs)}`,
])
