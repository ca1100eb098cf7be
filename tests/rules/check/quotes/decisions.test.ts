import { deliveryStates } from '../../../../src/core/receipts/receipt.ts'
import { sendStatuses } from '../../../../src/core/sends/timeline.ts'
import * as overflowLimit from '../../../../workers/queue/overflow-limit.ts'
import { keptShare, maxOrdinaryWork } from '../../../../workers/queue/slots.ts'
import { workerTimes } from '../../../../workers/worker-times.ts'
import { figures, percent, seconds, settings } from './quote.ts'

const { leaseMs, longestBeatGapMs, endpointClaimMs } = workerTimes
const listed = (names: readonly string[], last: string) =>
  `\`${names.slice(0, -1).join('`, `')}\` ${last} \`${names.at(-1)}\``

figures('decisions/0009-states', {
  Decision: [listed(sendStatuses, 'and'), listed(deliveryStates, 'or')],
})

figures('decisions/0019-claims-after-an-outage', { Decision: [seconds(leaseMs), seconds(longestBeatGapMs)] })

figures('decisions/0041-adaptive-slots', {
  Decision: [
    `\`WORKER_CONCURRENCY\` (${settings.WORKER_CONCURRENCY})`,
    percent(1 - keptShare),
    percent(keptShare),
    `${maxOrdinaryWork} sends`,
    `1/${1 / overflowLimit.raisedBy}`,
    `${overflowLimit.maxWork}`,
    `${overflowLimit.minWork}`,
  ],
})

figures('decisions/0049-callbacks', { Decision: [seconds(endpointClaimMs)] })
