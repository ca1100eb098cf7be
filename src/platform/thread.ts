import { parentPort, type Transferable, Worker, workerData } from 'node:worker_threads'

interface Task<Asked, Answer> {
  asked: Asked
  transfer: readonly Transferable[]
  resolve: (answer: Answer) => void
  reject: (error: Error) => void
}

type Reply<Answer> = { answer: Answer } | { error: Error }

interface ThreadOptions {
  workerData: unknown
  /** After which a task is given up, and the thread with it. */
  taskMs: number
  /** Of its heap; beyond it the thread is lost, and not the process. */
  resourceLimits: { maxOldGenerationSizeMb: number }
}

/** The thread was lost with what it was at work on. */
export class ThreadLost extends Error {}

/**
 * A thread for work that would hold up everybody: one task at a time, in the order asked for. It is started by the first
 * task, and again by the next one after it was lost; then only the task that it was at work on fails. It doesn't keep
 * the process alive.
 */
export class Thread<Asked, Answer> {
  readonly #file: URL
  readonly #options: ThreadOptions
  #worker: Worker | undefined
  #working: Task<Asked, Answer> | undefined
  #overdue: NodeJS.Timeout | undefined
  /** Here, and not in the thread: with it they would be lost. */
  readonly #waiting: Task<Asked, Answer>[] = []

  /**
   * @param file calls `serve`.
   * @param options.workerData what it is given, where `serve` makes the work.
   */
  constructor(file: URL, options: ThreadOptions) {
    this.#file = file
    this.#options = options
  }

  /** @param transfer what is moved there instead of copied: here it is empty afterwards. */
  ask(asked: Asked, transfer: readonly Transferable[] = []): Promise<Answer> {
    return new Promise((resolve, reject) => {
      this.#waiting.push({ asked, transfer, resolve, reject })
      this.#next()
    })
  }

  #next(): void {
    if (this.#working || this.#waiting.length === 0) return
    this.#working = this.#waiting.shift()
    const { asked, transfer, reject } = this.#working as Task<Asked, Answer>
    try {
      this.#worker ??= this.#start()
      const worker = this.#worker
      this.#overdue = setTimeout(() => void worker.terminate(), this.#options.taskMs)
      worker.postMessage(asked, transfer)
    } catch (error) {
      this.#end()
      reject(error as Error)
      this.#next()
    }
  }

  #start(): Worker {
    const worker = startWorker(this.#file, this.#options)
    let fault: NodeJS.ErrnoException | undefined
    worker.on('error', (error: Error) => {
      fault = error
    })
    worker.on('message', (reply: Reply<Answer>) => {
      const task = this.#end()
      if ('answer' in reply) task?.resolve(reply.answer)
      else task?.reject(reply.error)
      this.#next()
    })
    worker.on('exit', (code) => {
      this.#worker = undefined
      this.#end()?.reject(
        new ThreadLost(`the thread ended by ${fault?.code ?? fault?.name ?? `exit ${code}`}`),
      )
      this.#next()
    })
    // Behind the listeners: that for messages would keep the process alive again.
    worker.unref()
    return worker
  }

  #end(): Task<Asked, Answer> | undefined {
    clearTimeout(this.#overdue)
    const task = this.#working
    this.#working = undefined
    return task
  }
}

/** From its sources, which only development and tests run, Node.js 20 needs the loader to be told to the thread. */
function startWorker(file: URL, options: ThreadOptions): Worker {
  // Without what the process was started with: a tracing SDK, say, would be loaded once more, with its exporter.
  if (!file.pathname.endsWith('.ts')) return new Worker(file, { ...options, execArgv: [], env: {} })
  const loading = `import('tsx/esm/api').then(({ register }) => (register(), import(${JSON.stringify(file.href)})))`
  return new Worker(loading, { ...options, eval: true })
}

/**
 * Answers what a `Thread` asks; called by its file.
 *
 * @param prepare makes the work of what the thread was given.
 */
export function serve<Given, Asked, Answer>(
  prepare: (given: Given) => (asked: Asked) => { answer: Answer; transfer?: readonly Transferable[] },
): void {
  const work = prepare(workerData as Given)
  parentPort?.on('message', (asked: Asked) => {
    try {
      const { answer, transfer = [] } = work(asked)
      parentPort?.postMessage({ answer } satisfies Reply<Answer>, transfer)
    } catch (error) {
      parentPort?.postMessage({ error: error as Error } satisfies Reply<Answer>)
    }
  })
}
