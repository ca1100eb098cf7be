import { setFlagsFromString } from 'node:v8'

// V8 optimises what is run ten times more often than by default: more than a tenth of a test run's CPU went into optimising
// code that hardly ran afterwards. Node.js 22 counts in another way.
const isBefore22 = Number.parseInt(process.versions.node, 10) < 22
setFlagsFromString(isBefore22 ? '--interrupt-budget=1000000' : '--invocation-count-for-turbofan=30000')
