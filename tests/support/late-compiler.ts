import { setFlagsFromString } from 'node:v8'

/** A test run ends before fast code pays: more than a tenth of its CPU went into compiling it. Node.js 22 names it anew. */
const isBefore22 = Number.parseInt(process.versions.node, 10) < 22
setFlagsFromString(isBefore22 ? '--interrupt-budget=1000000' : '--invocation-count-for-turbofan=30000')
