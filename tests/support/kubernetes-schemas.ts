import { ScaledObject } from '@kubernetes-models/keda/keda.sh/v1alpha1'
import { PodMonitor, PrometheusRule } from '@kubernetes-models/prometheus-operator/monitoring.coreos.com/v1'
import { Deployment } from 'kubernetes-models/apps/v1'
import { HorizontalPodAutoscaler } from 'kubernetes-models/autoscaling/v2'
import { Job } from 'kubernetes-models/batch/v1'
import { NetworkPolicy } from 'kubernetes-models/networking.k8s.io/v1'
import { PodDisruptionBudget } from 'kubernetes-models/policy/v1'
import { Service } from 'kubernetes-models/v1'

export interface Manifest {
  apiVersion: string
  kind: string
  metadata?: { name?: string }
}

/** Their validators are made from the JSON schemas of Kubernetes, KEDA and the Prometheus operator. */
const models = [
  Deployment,
  HorizontalPodAutoscaler,
  Job,
  NetworkPolicy,
  PodDisruptionBudget,
  PodMonitor,
  PrometheusRule,
  ScaledObject,
  Service,
]

/**
 * The faults of a manifest: what its schema refuses, and every field that isn't in the schema. The schemas allow such
 * fields, and the API server drops them.
 *
 * @throws if there is no schema for its kind.
 */
export function faultsOf(manifest: Manifest): string[] {
  const { apiVersion, kind } = manifest
  const model = models.find((one) => one.apiVersion === apiVersion && one.kind === kind)
  if (!model) throw new Error(`no schema for ${apiVersion} ${kind}`)
  const read = new Set<string>()
  const faults: string[] = []
  try {
    // It looks at each field that its schema knows.
    model.prototype.validate.call(watched(manifest, '', read))
  } catch (error) {
    faults.push((error as Error).message)
  }
  return [...faults, ...unread(manifest, '', read).map((path) => `${path}: unknown field`)]
}

/** Remembers the paths of all fields that are looked at. */
function watched<Value>(value: Value, path: string, read: Set<string>): Value {
  if (typeof value !== 'object' || value === null) return value
  return new Proxy(value, {
    get(target, key) {
      const at = `${path}/${String(key)}`
      read.add(at)
      return watched(Reflect.get(target, key), at, read)
    },
  })
}

function unread(value: unknown, path: string, read: ReadonlySet<string>): string[] {
  if (typeof value !== 'object' || value === null) return []
  return Object.entries(value).flatMap(([key, field]) => {
    const at = `${path}/${key}`
    return read.has(at) ? unread(field, at, read) : [at]
  })
}
