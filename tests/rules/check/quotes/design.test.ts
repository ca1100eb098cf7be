import { callbackJobSchema } from '../../../../src/core/callbacks/callback-job.ts'
import { sendJobSchema } from '../../../../src/core/sends/send-job.ts'
import { workerTimes } from '../../../../workers/worker-times.ts'
import { figures, seconds } from './quote.ts'

const { beatEveryMs, reconcileEveryMs, reconcileAgainAfterMs, reconcileBacklogEveryMs } = workerTimes
const { moveDueEveryMs, overdueByMs, sweepEveryMs, foldEveryMs } = workerTimes
const fieldsOf = ({ shape }: { shape: object }) => `\`${Object.keys(shape).join('`, `')}\``

figures('explanation/design', {
  Processes: [
    `| heartbeat | ${seconds(beatEveryMs)} |`,
    `| reconciler | ${seconds(reconcileEveryMs)}; ${seconds(reconcileAgainAfterMs)}`,
    `${reconcileAgainAfterMs / 1000} or ${seconds(reconcileBacklogEveryMs)}`,
    seconds(overdueByMs),
    `| due sends | ${seconds(moveDueEveryMs)},`,
    `| reconciler of endpoints | ${seconds(reconcileEveryMs)} |`,
    ...['giving up claims', 'expiry', 'deleted channels', 'suppressions'].map(
      (task) => `| ${task} | ${seconds(sweepEveryMs)} |`,
    ),
    `| counters | ${seconds(foldEveryMs)} |`,
    fieldsOf(sendJobSchema),
    fieldsOf(callbackJobSchema),
  ],
})
