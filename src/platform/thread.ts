import { parentPort, type Transferable, Worker, workerData } from 'node:worker_threads'

interface Task<Input, Output> {
  input: Input
  transfer: readonly Transferable[]
  resolve: (output: Output) => void
  reject: (error: Error) => void
}

type Reply<Output> = 'loaded' | { output: Output } | { error: Error }

interface ThreadOptions {
  workerData: unknown
  /** A task that takes longer fails, and its thread is ended. The start of the thread doesn't count. */
  taskMs: number
  /** A heap beyond this ends the thread instead of the process. */
  resourceLimits: { maxOldGenerationSizeMb: number }
}

/** The thread ended while it was running the task. */
export class ThreadLost extends Error {}

/**
 * A thread for work that would block the event loop. It runs one task at a time, in order. The first task starts it; if it
 * ends, only the task that it was running fails, and the next task starts it again. It doesn't keep the process alive.
 */
export class Thread<Input, Output> {
  readonly #file: URL
  readonly #options: ThreadOptions
  #worker: Worker | undefined
  #isLoaded = false
  #working: Task<Input, Output> | undefined
  #overdue: NodeJS.Timeout | undefined
  /** Kept on this side, because tasks posted to the thread would be lost with it. */
  readonly #waiting: Task<Input, Output>[] = []

  /**
   * @param file the thread's module; it calls `serve`.
   * @param options.workerData passed to the `prepare` function of `serve`.
   */
  constructor(file: URL, options: ThreadOptions) {
    this.#file = file
    this.#options = options
  }

  /**
   * @param transfer objects to move instead of copy: they are empty here afterwards.
   * @throws ThreadLost, or the error of the task.
   */
  run(input: Input, transfer: readonly Transferable[] = []): Promise<Output> {
    return new Promise((resolve, reject) => {
      this.#waiting.push({ input, transfer, resolve, reject })
      this.#next()
    })
  }

  #next(): void {
    if (this.#working || this.#waiting.length === 0) return
    this.#working = this.#waiting.shift()
    const { input, transfer, reject } = this.#working as Task<Input, Output>
    try {
      this.#worker ??= this.#start()
      this.#worker.postMessage(input, transfer)
      if (this.#isLoaded) this.#limitTask(this.#worker)
    } catch (error) {
      this.#end()
      reject(error as Error)
      this.#next()
    }
  }

  #limitTask(worker: Worker): void {
    this.#overdue = setTimeout(() => void worker.terminate(), this.#options.taskMs)
  }

  #start(): Worker {
    const worker = startWorker(this.#file, this.#options)
    let fault: NodeJS.ErrnoException | undefined
    worker.on('error', (error: Error) => {
      fault = error
    })
    worker.on('message', (reply: Reply<Output>) => {
      if (reply === 'loaded') {
        this.#isLoaded = true
        return this.#limitTask(worker)
      }
      const task = this.#end()
      if ('output' in reply) task?.resolve(reply.output)
      else task?.reject(reply.error)
      this.#next()
    })
    worker.on('exit', (code) => {
      this.#worker = undefined
      this.#isLoaded = false
      this.#end()?.reject(
        new ThreadLost(`the thread ended by ${fault?.code ?? fault?.name ?? `exit ${code}`}`),
      )
      this.#next()
    })
    // After adding the listeners: the one for messages would otherwise keep the process alive.
    worker.unref()
    return worker
  }

  #end(): Task<Input, Output> | undefined {
    clearTimeout(this.#overdue)
    const task = this.#working
    this.#working = undefined
    return task
  }
}

/** A thread's TypeScript source, which only development and tests run, needs the loader registered in the thread. */
function startWorker(file: URL, options: ThreadOptions): Worker {
  // Without the process's arguments: a tracing SDK loaded by them would be loaded again, with its exporter.
  if (!file.pathname.endsWith('.ts')) return new Worker(file, { ...options, execArgv: [], env: {} })
  const loading = `import('tsx/esm/api').then(({ register }) => (register(), import(${JSON.stringify(file.href)})))`
  return new Worker(loading, { ...options, eval: true })
}

/**
 * Runs the tasks of a `Thread`; called by the thread's module.
 *
 * @param prepare called once, with `workerData`; returns the function that runs a task.
 */
export function serve<Options, Input, Output>(
  prepare: (options: Options) => (input: Input) => { output: Output; transfer?: readonly Transferable[] },
): void {
  const work = prepare(workerData as Options)
  parentPort?.on('message', (input: Input) => {
    try {
      const { output, transfer = [] } = work(input)
      parentPort?.postMessage({ output } satisfies Reply<Output>, transfer)
    } catch (error) {
      parentPort?.postMessage({ error: error as Error } satisfies Reply<Output>)
    }
  })
  parentPort?.postMessage('loaded' satisfies Reply<Output>)
}
