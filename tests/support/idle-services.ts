import type { Runtime } from '../../src/runtime.ts'
import { emptyStores } from './empty-stores.ts'

interface Service {
  runtime: Pick<Runtime, 'db' | 'shards' | 'metrics'>
  api: Pick<Runtime, 'shards'>
  logs: unknown[]
  stopWorkers(): Promise<void>
}

/**
 * Services that no test uses at the moment, with empty stores. To start one, with a database and connections, takes as long
 * as many tests.
 */
export class IdleServices<Kind extends Service> {
  readonly #idle = new Map<string, Kind[]>()

  /** @param settings with which the service was started. */
  take(settings: object): Kind | undefined {
    return this.#like(settings).pop()
  }

  async giveBack(service: Kind, settings: object): Promise<void> {
    await service.stopWorkers()
    await emptyStores(service.runtime, ...service.api.shards.map(({ redis }) => redis))
    service.logs.splice(0)
    service.runtime.metrics.registry.resetMetrics()
    this.#like(settings).push(service)
  }

  #like(settings: object): Kind[] {
    const key = JSON.stringify(settings)
    const services = this.#idle.get(key) ?? []
    this.#idle.set(key, services)
    return services
  }
}
