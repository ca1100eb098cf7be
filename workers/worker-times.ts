/** A worker's times. They are no settings, because the documented promises depend on them; only tests pass shorter ones. */
export const workerTimes = {
  /** After this long without a heartbeat, a worker counts as dead, and its claims as lost. */
  leaseMs: 8000,
  beatEveryMs: 2000,
  beatAgainAfterFaultMs: 500,
  /** A longer gap between two heartbeats means that PostgreSQL was down, or this worker blocked. */
  longestBeatGapMs: 4000,
  /** Short enough for another try, on another connection, before the lease ends. */
  beatTimeoutMs: 2500,

  /** Another worker takes over a killed worker's jobs within these two times together. */
  jobLockMs: 8000,
  stalledCheckMs: 3000,
  /** A stop waits this long until Redis knows of all jobs that have ended. */
  finishJobsWithinMs: 2000,

  reconcileEveryMs: 3000,
  reconcileBacklogEveryMs: 1500,
  /** After an internal error; and during a backlog that is longer than a pass, if wake-ups were missing. */
  reconcileAgainAfterMs: 500,
  /** Wake-ups of sends due for less than this are most likely just being added. */
  overdueByMs: 2000,
  sweepEveryMs: 1000,
  /** How often changes of counters are added up. Pages show those that aren't yet, so this only decides how many rows they read. */
  foldEveryMs: 10_000,
  /** A scheduled send that was accepted since the last look is found within this time. */
  moveDueEveryMs: 500,

  /** How long a worker calls one endpoint before it looks for others; and how long it uses what it has read of it. */
  endpointClaimMs: 2000,
  /** While one call of an endpoint takes long, its worker looks this often for what else is due. */
  lookAgainMs: 200,
  afterFaultMs: 1000,

  /** A permit without a rate is valid this long: for the way through the queue. A permit with a rate is valid no longer than this. */
  permitValidMs: 10_000,
  /** A channel counts as failing after some failed calls in a row, over at least this time. */
  failingForMs: 5000,
}

export type WorkerTimes = Readonly<typeof workerTimes>
