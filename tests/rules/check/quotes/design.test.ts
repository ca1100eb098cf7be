import { callbackJobSchema } from '../../../../src/core/callback-job.ts'
import { sendJobSchema } from '../../../../src/core/send-job.ts'
import { workerTimes } from '../../../../workers/worker-times.ts'
import { quotes, seconds } from './quote.ts'

const { beatEveryMs, reconcileEveryMs, reconcileAgainAfterMs, reconcileBacklogEveryMs } = workerTimes
const { moveDueEveryMs, overdueByMs, sweepEveryMs } = workerTimes
const fieldsOf = ({ shape }: { shape: object }) => `\`${Object.keys(shape).join('`, `')}\``

quotes('explanation/design', [
  `| heartbeat | ${seconds(beatEveryMs)} |`,
  `| reconciler | ${seconds(reconcileEveryMs)}; ${seconds(reconcileAgainAfterMs)} if some wake-ups couldn't be added`,
  `${reconcileAgainAfterMs / 1000} or ${seconds(reconcileBacklogEveryMs)} while more sends are due`,
  `for each send that has been due for more than ${seconds(overdueByMs)} without one`,
  `| due sends | ${seconds(moveDueEveryMs)}, or`,
  `| reconciler of endpoints | ${seconds(reconcileEveryMs)} | wakes each endpoint that has had a callback due for more than ${seconds(overdueByMs)}`,
  `| sweep | ${seconds(sweepEveryMs)} |`,
  `A wake-up of a send holds only its ${fieldsOf(sendJobSchema)}, that of an endpoint only its ${fieldsOf(callbackJobSchema)}`,
])
