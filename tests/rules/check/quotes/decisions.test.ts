import { answeringForMinutes } from '../../../../db/callbacks/endpoint-claims.ts'
import { longestPutOffMs } from '../../../../src/core/callback-job.ts'
import { deliveryStates } from '../../../../src/core/receipt.ts'
import { sendStatuses } from '../../../../src/core/timeline.ts'
import * as overflowLimit from '../../../../workers/overflow-limit.ts'
import { keptShare, maxOrdinaryWork } from '../../../../workers/slots.ts'
import { workerTimes } from '../../../../workers/worker-times.ts'
import { percent, quotes, seconds, settings } from './quote.ts'

const { leaseMs, longestBeatGapMs, endpointClaimMs, overdueByMs, reconcileEveryMs } = workerTimes
const listed = (names: readonly string[], last: string) =>
  `\`${names.slice(0, -1).join('`, `')}\` ${last} \`${names.at(-1)}\``

quotes('decisions/0009-states', [
  `The states are ${listed(sendStatuses, 'and')}.`,
  `\`delivery\` stands beside the state: it is null, ${listed(deliveryStates, 'or')}`,
])

quotes('decisions/0019-claims-after-an-outage', [
  `succeeded for ${seconds(leaseMs)}, without a gap of more than ${seconds(longestBeatGapMs)}`,
])

quotes('decisions/0041-adaptive-slots', [
  `\`WORKER_CONCURRENCY\` (${settings.WORKER_CONCURRENCY}) limits`,
  `at most ${percent(1 - keptShare)} of these slots`,
  `At least ${percent(keptShare)} stay for it`,
  `at most ${maxOrdinaryWork} sends of the ordinary queue`,
  `adds 1/${1 / overflowLimit.raisedBy} to it, up to ${overflowLimit.maxWork}`,
  `halves it, down to ${overflowLimit.minWork}`,
])

quotes('decisions/0049-callbacks', [
  `in the last ${answeringForMinutes} minutes`,
  `waits at most ${seconds(endpointClaimMs)} for a slot`,
  `each comes again after ${seconds(longestPutOffMs)}`,
  `Every ${seconds(reconcileEveryMs)}, a worker with a free slot also calls the endpoints that have been due for ${seconds(overdueByMs)}`,
])
