import { parentPort, type Transferable, Worker, workerData } from 'node:worker_threads'
import pLimit from 'p-limit'

type Reply<Output> = 'loaded' | { output: Output } | { error: Error }

interface ThreadOptions {
  workerData: unknown
  /** A task that takes longer fails, and its thread is ended. The start of the thread doesn't count. */
  taskMs: number
  /** A heap beyond this ends the thread. It is a last resort: if the heap grows too fast, V8 ends the whole process. */
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
  /** Waiting tasks are kept on this side, because tasks posted to the thread would be lost with it. */
  readonly #inTurn = pLimit(1)
  #loaded: Promise<Worker> | undefined
  #task: { resolve(output: Output): void; reject(error: Error): void } | undefined

  /**
   * @param file the thread's module; it calls `serve`.
   * @param options.workerData passed to the `prepare` function of `serve`.
   */
  constructor(file: URL, options: ThreadOptions) {
    this.#file = file
    this.#options = options
  }

  /**
   * @param transfer objects to move instead of copy: they are empty here once the task has begun.
   * @throws ThreadLost, or the error of the task.
   */
  run(input: Input, transfer: readonly Transferable[] = []): Promise<Output> {
    return this.#inTurn(async () => {
      this.#loaded ??= this.#start()
      const worker = await this.#loaded
      const overdue = setTimeout(() => void worker.terminate(), this.#options.taskMs)
      try {
        return await new Promise<Output>((resolve, reject) => {
          this.#task = { resolve, reject }
          worker.postMessage(input, transfer)
        })
      } finally {
        clearTimeout(overdue)
      }
    })
  }

  #start(): Promise<Worker> {
    const worker = startWorker(this.#file, this.#options)
    return new Promise((resolve, reject) => {
      let failure: NodeJS.ErrnoException | undefined
      worker.on('error', (error: Error) => {
        failure = error
      })
      worker.on('message', (reply: Reply<Output>) => {
        if (reply === 'loaded') resolve(worker)
        else if ('output' in reply) this.#task?.resolve(reply.output)
        else this.#task?.reject(reply.error)
      })
      worker.on('exit', (code) => {
        this.#loaded = undefined
        const lost = new ThreadLost(`the thread ended by ${failure?.code ?? failure?.name ?? `exit ${code}`}`)
        reject(lost)
        this.#task?.reject(lost)
      })
      // After adding the listeners: the one for messages would otherwise keep the process alive.
      worker.unref()
    })
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
