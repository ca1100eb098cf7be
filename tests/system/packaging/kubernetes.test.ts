import { readdirSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { parse, parseAllDocuments, stringify } from 'yaml'
import { z } from 'zod'
import { balancers } from '../../../src/api/http/listen.ts'
import { stopWithinMs } from '../../../src/platform/process/process.ts'
import { readAdminSettings, readSettings, settingNames } from '../../../src/platform/settings/settings.ts'
import { faultsOf, type Manifest } from '../../support/kubernetes-schemas.ts'
import { testSecrets } from '../../support/service.ts'

const folder = 'ops/kubernetes'
const read = (file: string) => readFileSync(file, 'utf8')
const files = readdirSync(folder, { recursive: true, encoding: 'utf8' })
  .filter((file) => file.endsWith('.yaml'))
  .map((file) => join(folder, file))
const isKustomization = (file: string) => file.endsWith('kustomization.yaml')

const manifests = files
  .filter((file) => !isKustomization(file))
  .flatMap((file) =>
    parseAllDocuments(read(file)).map((document) => ({ file, manifest: document.toJS() as Manifest })),
  )
const named = (kind: string, name: string) => {
  const found = manifests.find(({ manifest }) => manifest.kind === kind && manifest.metadata?.name === name)
  if (!found) throw new Error(`no ${kind} ${name}`)
  // biome-ignore lint/suspicious/noExplicitAny: the schemas check the form
  return found.manifest as any
}
const ofKind = (kind: string) =>
  // biome-ignore lint/suspicious/noExplicitAny: the schemas check the form
  manifests.filter(({ manifest }) => manifest.kind === kind).map(({ manifest }) => manifest as any)

const podOf = (workload: { spec: { template: unknown } }) =>
  // biome-ignore lint/suspicious/noExplicitAny: the schemas check the form
  workload.spec.template as any
const workloads = {
  api: named('Deployment', 'outbound-api'),
  worker: named('Deployment', 'outbound-worker'),
  admin: named('Deployment', 'outbound-admin'),
  migrate: named('Job', 'outbound-migrate'),
}
const containers = Object.fromEntries(
  Object.entries(workloads).map(([name, workload]) => [name, podOf(workload).spec.containers[0]]),
)
const running = ['api', 'worker', 'admin'] as const

describe('the schemas', () => {
  test.each(manifests)('$file has a valid $manifest.kind, with no unknown field', ({ manifest }) => {
    expect(faultsOf(manifest)).toEqual([])
  })

  test.each([
    ['a misspelt optional field of a Pod', workloads.api, ['spec', 'template', 'spec', 'enableServiceLink']],
    [
      'a misspelt field of a probe',
      workloads.api,
      ['spec', 'template', 'spec', 'containers', 0, 'readinessProbe', 'periodSecond'],
    ],
    ['an unknown field of a Deployment', workloads.worker, ['spec', 'replica']],
    ['an unknown field of a Job', workloads.migrate, ['spec', 'backOffLimit']],
    ['an unknown field of a Service', named('Service', 'outbound-api'), ['spec', 'ports', 0, 'target']],
    ['an unknown field of an autoscaler', named('HorizontalPodAutoscaler', 'outbound-api'), ['spec', 'max']],
    [
      'an unknown field of a disruption budget',
      named('PodDisruptionBudget', 'outbound-api'),
      ['spec', 'max'],
    ],
    [
      'an unknown field of a network policy',
      named('NetworkPolicy', 'outbound-api'),
      ['spec', 'ingress', 0, 'port'],
    ],
    [
      'an unknown field of a PodMonitor',
      named('PodMonitor', 'outbound'),
      ['spec', 'podMetricsEndpoints', 0, 'intervall'],
    ],
    [
      'an unknown field of an alert',
      named('PrometheusRule', 'outbound'),
      ['spec', 'groups', 0, 'rules', 0, 'label'],
    ],
    ['an unknown field of a ScaledObject', named('ScaledObject', 'outbound-worker'), ['spec', 'minReplicas']],
    ['an unknown field of metadata', workloads.admin, ['metadata', 'label']],
  ])('refuse %s', (_what, manifest, path) => {
    const faulty = structuredClone(manifest)
    setIn(faulty, path, 1)
    expect(faultsOf(faulty)).not.toEqual([])
  })

  test('refuse a value of another type, a missing field, and an unknown kind', () => {
    const wrong = structuredClone(workloads.api)
    wrong.spec.template.spec.terminationGracePeriodSeconds = 'long'
    const incomplete = structuredClone(workloads.api)
    delete incomplete.spec.selector
    for (const manifest of [wrong, incomplete]) expect(faultsOf(manifest)).not.toEqual([])
    expect(() => faultsOf({ ...workloads.api, apiVersion: 'apps/v2' })).toThrow('apps/v2')
  })
})

// biome-ignore lint/suspicious/noExplicitAny: any manifest
function setIn(target: any, path: readonly (string | number)[], value: unknown): void {
  const [last = ''] = path.slice(-1)
  const parent = path.slice(0, -1).reduce((each, key) => each[key], target)
  expect(parent).not.toHaveProperty(String(last))
  parent[last] = value
}

const image = z.strictObject({ name: z.string(), newTag: z.string() })
const kustomization = z.strictObject({
  apiVersion: z.enum(['kustomize.config.k8s.io/v1beta1', 'kustomize.config.k8s.io/v1alpha1']),
  kind: z.enum(['Kustomization', 'Component']),
  labels: z
    .array(z.strictObject({ pairs: z.record(z.string(), z.string()), includeTemplates: z.literal(true) }))
    .optional(),
  resources: z.array(z.string()),
  images: z.array(image).optional(),
  configMapGenerator: z.array(z.strictObject({ name: z.string(), literals: z.array(z.string()) })).optional(),
  patches: z
    .array(
      z.strictObject({
        target: z.strictObject({ kind: z.string(), name: z.string() }),
        patch: z.string(),
      }),
    )
    .optional(),
})
/** A user's overlay, as the docs show it. */
const overlay = z.strictObject({
  apiVersion: z.literal('kustomize.config.k8s.io/v1beta1'),
  kind: z.literal('Kustomization'),
  namespace: z.string(),
  resources: z.array(z.string()),
  components: z.array(z.string()).optional(),
  images: z.array(image.extend({ newName: z.string() })),
  configMapGenerator: z
    .array(z.strictObject({ name: z.string(), behavior: z.literal('merge'), literals: z.array(z.string()) }))
    .optional(),
})
const kustomizations = files
  .filter(isKustomization)
  .map((file) => ({ file, content: kustomization.parse(parse(read(file))) }))
const base = kustomizations.find(({ file }) => file === join(folder, 'kustomization.yaml'))?.content

describe('kustomize', () => {
  test('every manifest is in one kustomization, and every file in one exists', () => {
    const listed = kustomizations.flatMap(({ file, content }) =>
      content.resources.map((resource) => join(dirname(file), resource)),
    )
    expect(listed.sort()).toEqual(files.filter((file) => !isKustomization(file)).sort())
  })

  test('the image of the base and of the migration is set in one place each', () => {
    const images = new Set(Object.values(containers).map((container) => container.image))
    expect(images).toEqual(new Set(['outbound-messaging-api']))
    const set = kustomizations.filter(({ content }) => content.kind === 'Kustomization')
    expect(set).toHaveLength(2)
    for (const { content } of set) expect(content.images?.map(({ name }) => name)).toEqual([...images])
  })

  test('the overlays of the docs name folders, the image and settings that exist', () => {
    const blocks = read('docs/how-to/deploy-on-kubernetes.md').matchAll(/```yaml\n(.*?)```/gs)
    const overlays = [...blocks].map(([, text = '']) => overlay.parse(parse(text)))
    const folders = overlays.map(({ resources, components = [] }) =>
      [...resources, ...components].map((path) => path.replace('../outbound-messaging-api/', '')),
    )
    expect(folders).toEqual([['ops/kubernetes/migrate'], ['ops/kubernetes', 'ops/kubernetes/monitoring']])
    for (const path of folders.flat()) expect(kustomizations.map(({ file }) => dirname(file))).toContain(path)
    for (const { images } of overlays)
      expect(images.map(({ name }) => name)).toEqual(['outbound-messaging-api'])
    const generated = overlays.flatMap(({ configMapGenerator = [] }) => configMapGenerator)
    expect(generated.map(({ name }) => name)).toEqual(['outbound-settings'])
    for (const literal of generated.flatMap(({ literals }) => literals))
      expect(settingNames).toContain(literal.split('=')[0])
  })

  test('a patch removes what is there: the fixed number of workers', () => {
    const patches = kustomizations.flatMap(({ content }) => content.patches ?? [])
    expect(patches.map(({ target }) => named(target.kind, target.name).spec.replicas)).toEqual([2])
    expect(patches.map(({ patch }) => parse(patch))).toEqual([[{ op: 'remove', path: '/spec/replicas' }]])
  })
})

const settings = Object.fromEntries(
  (base?.configMapGenerator?.[0]?.literals ?? []).map((literal) => literal.split(/=(.*)/)),
)
const stores = { DATABASE_URL: 'postgres://u:p@postgres/outbound', REDIS_URL: 'redis://redis' }
const secrets: Record<string, Record<string, string>> = {
  'outbound-secrets': { ...stores, ...testSecrets },
  'outbound-admin': { ADMIN_PASSWORD: 'secret' },
}

interface Variable {
  name: string
  valueFrom: { secretKeyRef: { name: string; key: string; optional?: boolean } }
}

/** As the kubelet fills it in. */
function environmentOf(name: keyof typeof workloads): Record<string, string> {
  const { env, envFrom = [] } = containers[name]
  const own = (env as Variable[]).flatMap(({ name: variable, valueFrom: { secretKeyRef } }) => {
    const value = secrets[secretKeyRef.name]?.[secretKeyRef.key]
    if (value === undefined && !secretKeyRef.optional) throw new Error(`no ${variable}`)
    return value === undefined ? [] : [[variable, value]]
  })
  expect(envFrom).toEqual(name === 'migrate' ? [] : [{ configMapRef: { name: 'outbound-settings' } }])
  return { ...(envFrom.length > 0 && settings), ...Object.fromEntries(own) }
}

describe('settings', () => {
  test('each process gets the settings that it needs, and they are valid', () => {
    for (const name of ['api', 'worker'] as const)
      expect(readSettings(undefined, environmentOf(name))).toMatchObject({ METRICS_HOST: '0.0.0.0' })
    expect(readAdminSettings(environmentOf('admin'))).toMatchObject({ ADMIN_HOST: '0.0.0.0' })
    expect(Object.keys(environmentOf('migrate'))).toEqual(['DATABASE_URL'])
    readSettings(['DATABASE_URL', 'LOG_LEVEL'], environmentOf('migrate'))
  })

  test('every variable is a setting, under the name of its key', () => {
    for (const { env } of Object.values(containers))
      for (const { name, valueFrom } of env as Variable[]) {
        expect(settingNames).toContain(name)
        expect(valueFrom.secretKeyRef.key).toBe(name)
      }
    for (const name of Object.keys(settings)) expect(settingNames).toContain(name)
  })

  test('the migration gets no key', () => {
    for (const secret of Object.keys(testSecrets)) expect(environmentOf('migrate')).not.toHaveProperty(secret)
  })

  test('the console gets the secrets with which it sets up accounts, and also starts without them', () => {
    const { API_KEY_PEPPER, CREDENTIALS_KEY, ...others } = environmentOf('admin')
    expect([API_KEY_PEPPER, CREDENTIALS_KEY]).not.toContain(undefined)
    expect(readAdminSettings(others)).not.toHaveProperty('CREDENTIALS_KEY')
    expect(readAdminSettings(others).API_KEY_PEPPER).toBeUndefined()
  })

  test('the docs create the secrets with these keys', () => {
    const docs = read('docs/how-to/deploy-on-kubernetes.md')
    for (const [name, keys] of Object.entries(secrets)) {
      const [, created = ''] = new RegExp(`secret generic ${name}((?: \\\\\\n|.)*)`).exec(docs) ?? []
      for (const key of Object.keys(keys)) expect(created, name).toContain(`--from-literal=${key}=`)
    }
  })
})

const defaults = readSettings(undefined, { ...stores, ...testSecrets })

describe('ports', () => {
  test('the containers have those of the settings', () => {
    const portsOf = (name: string) =>
      Object.fromEntries(
        (containers[name].ports ?? []).map((port: { name: string; containerPort: number }) => [
          port.name,
          port.containerPort,
        ]),
      )
    expect(portsOf('api')).toEqual({ http: defaults.PORT, metrics: defaults.METRICS_PORT })
    expect(portsOf('worker')).toEqual({ metrics: defaults.METRICS_PORT })
    expect(portsOf('admin')).toEqual({ admin: defaults.ADMIN_PORT })
    expect(portsOf('migrate')).toEqual({})
  })

  /** Names of the ports of all Pods that have these labels. */
  const portsAt = (labels: Record<string, string>) => {
    const pods = Object.values(workloads).map(podOf)
    const chosen = pods.filter(({ metadata }) =>
      Object.entries(labels).every(([key, value]) => metadata.labels[key] === value),
    )
    expect(chosen.length, JSON.stringify(labels)).toBeGreaterThan(0)
    return chosen.flatMap(({ spec }) =>
      spec.containers[0].ports.map(({ name }: { name: string }) => name as string),
    )
  }

  test('Services, policies, probes and monitors name ports that the Pods have', () => {
    for (const { spec } of ofKind('Service'))
      for (const { targetPort } of spec.ports) expect(portsAt(spec.selector)).toContain(targetPort)
    for (const { spec } of ofKind('NetworkPolicy'))
      for (const { ports } of spec.ingress)
        for (const { port } of ports) expect(portsAt(spec.podSelector.matchLabels)).toContain(port)
    for (const name of running)
      for (const probe of ['startupProbe', 'livenessProbe', 'readinessProbe'])
        expect(portsAt(podOf(workloads[name]).metadata.labels)).toContain(
          containers[name][probe].httpGet.port,
        )
    for (const { spec } of ofKind('PodMonitor')) {
      const { matchLabels, matchExpressions = [] } = spec.selector
      const jobs = matchLabels ? [matchLabels[spec.jobLabel]] : matchExpressions[0].values
      for (const job of jobs)
        for (const { port } of spec.podMetricsEndpoints)
          expect(portsAt({ [spec.jobLabel]: job })).toContain(port)
    }
  })

  test('only the API is open to the whole cluster, and only for requests', () => {
    const open = ofKind('NetworkPolicy').flatMap(({ metadata, spec }) =>
      spec.ingress
        .filter(({ from }: { from?: unknown }) => from === undefined)
        .map(({ ports }: { ports: unknown }) => ({ name: metadata.name, ports })),
    )
    expect(open).toEqual([{ name: 'outbound-api', ports: [{ port: 'http' }] }])
    expect(ofKind('NetworkPolicy').map(({ spec }) => spec.policyTypes)).toEqual([
      ['Ingress'],
      ['Ingress'],
      ['Ingress'],
    ])
    expect(ofKind('Service').map(({ spec }) => spec.type ?? 'ClusterIP')).toEqual(['ClusterIP', 'ClusterIP'])
  })
})

describe('processes', () => {
  const scripts = JSON.parse(read('package.json')).scripts as Record<string, string>

  test.each(['worker', 'admin', 'migrate'] as const)('the %s is started as by npm', (name) => {
    expect(containers[name].command.join(' ')).toBe(scripts[name]?.replace('exec ', ''))
  })

  test('the API is started as by the image', () => {
    expect(containers.api.command).toBeUndefined()
  })

  test.each(running)('the %s gets longer to stop than it drains', (name) => {
    const { terminationGracePeriodSeconds } = podOf(workloads[name]).spec
    expect(terminationGracePeriodSeconds * 1000).toBeGreaterThanOrEqual(stopWithinMs[name] + 5000)
    const docs = read('docs/how-to/deploy-on-kubernetes.md')
    expect(docs.replaceAll('\n', ' ')).toContain(
      `${terminationGracePeriodSeconds} s (${name === 'api' ? 'API' : name})`,
    )
  })

  test('an API that stops is taken out of service while it still accepts connections', () => {
    const { periodSeconds, failureThreshold } = containers.api.readinessProbe
    expect(periodSeconds * failureThreshold * 1000).toBeLessThanOrEqual(balancers.noticeWithinMs)
    expect(periodSeconds * 1000).toBeLessThan(balancers.askWithinMs)
  })

  test.each(running)('the %s is restarted by /healthz, and balanced by /readyz', (name) => {
    const { startupProbe, livenessProbe, readinessProbe } = containers[name]
    const paths = [startupProbe, livenessProbe, readinessProbe].map(({ httpGet }) => httpGet.path)
    expect(paths).toEqual(['/healthz', '/healthz', '/readyz'])
  })

  test('an API that waits for the number of shards, and has no port for requests yet, is not restarted', () => {
    const { startupProbe, livenessProbe, readinessProbe } = containers.api
    const ports = [startupProbe, livenessProbe, readinessProbe].map(({ httpGet }) => httpGet.port)
    expect(ports).toEqual(['metrics', 'metrics', 'http'])
  })

  test('Pods that are not ready can be moved to another node', () => {
    const policies = ofKind('PodDisruptionBudget').map(({ spec }) => spec.unhealthyPodEvictionPolicy)
    expect(policies).toEqual(['AlwaysAllow', 'AlwaysAllow'])
  })

  test('API and worker get the memory that the docs allow for, and no limit of CPU', () => {
    const limits = read('docs/reference/limits.md')
    for (const [name, title] of [
      ['api', 'an API process'],
      ['worker', 'a worker'],
    ] as const) {
      const [, gibibytes] = new RegExp(`## Memory of ${title}\\n\\nAllow (\\d+) GiB`).exec(limits) ?? []
      expect(containers[name].resources.limits).toEqual({ memory: `${gibibytes}Gi` })
    }
  })

  test.each(Object.keys(workloads))('the %s has no more rights than it needs', (name) => {
    const { spec } = podOf(workloads[name as keyof typeof workloads])
    const [, user] = /^USER (\d+):/m.exec(read('Dockerfile')) ?? []
    expect(spec).toMatchObject({
      automountServiceAccountToken: false,
      enableServiceLinks: false,
      shareProcessNamespace: true,
      securityContext: {
        runAsNonRoot: true,
        runAsUser: Number(user),
        seccompProfile: { type: 'RuntimeDefault' },
      },
    })
    expect(containers[name].securityContext).toEqual({
      allowPrivilegeEscalation: false,
      readOnlyRootFilesystem: true,
      capabilities: { drop: ['ALL'] },
    })
  })

  test('selectors choose the Pods of their own workload', () => {
    for (const name of running) {
      const { metadata, spec } = workloads[name]
      const { labels } = podOf(workloads[name]).metadata
      expect(labels).toEqual({ 'app.kubernetes.io/name': metadata.name })
      expect(spec.selector.matchLabels).toEqual(labels)
    }
    for (const kind of ['Service', 'PodDisruptionBudget', 'NetworkPolicy'])
      for (const { metadata, spec } of ofKind(kind)) {
        const selector = spec.podSelector ?? spec.selector
        expect(selector.matchLabels ?? selector).toEqual({ 'app.kubernetes.io/name': metadata.name })
      }
  })
})

describe('scaling', () => {
  const scaler = named('HorizontalPodAutoscaler', 'outbound-api').spec
  const scaled = named('ScaledObject', 'outbound-worker').spec

  test('the scalers choose the Deployments, whose number nothing else sets', () => {
    expect([scaler.scaleTargetRef.name, scaled.scaleTargetRef.name]).toEqual([
      'outbound-api',
      'outbound-worker',
    ])
    expect(workloads.api.spec.replicas).toBeUndefined()
    expect(workloads.worker.spec.replicas).toBe(scaled.minReplicaCount)
  })

  test('workers are scaled by metrics that exist', () => {
    const documented = read('docs/reference/metrics.md')
    const [{ metadata }] = scaled.triggers
    const names = metadata.query.match(/outbound_\w+/g)
    expect(names).toHaveLength(2)
    for (const name of names) expect(documented).toContain(`\`${name}\``)
  })

  test('the docs say how many connections to PostgreSQL they have at their highest numbers in a rollout', () => {
    // Kubernetes doesn't count Pods that end, so as many may drain as are new. Only the admin process is recreated.
    const processes = 2 * (scaler.maxReplicas + scaled.maxReplicaCount) + workloads.admin.spec.replicas
    expect(workloads.admin.spec.strategy.type).toBe('Recreate')
    expect(read('docs/how-to/deploy-on-kubernetes.md')).toMatch(
      new RegExp(`hold up to ${processes * defaults.DATABASE_POOL_SIZE}\\b`),
    )
  })
})

describe('monitoring', () => {
  test('the jobs are those of the alerts', () => {
    const jobs = ofKind('PodMonitor').flatMap(({ spec }) => {
      const { matchLabels, matchExpressions = [] } = spec.selector
      return matchLabels ? [matchLabels[spec.jobLabel]] : matchExpressions[0].values
    })
    const named = new Set(
      [...read('ops/prometheus/prometheus.yml').matchAll(/job_name: (.*)/g)].map(([, job]) => job),
    )
    expect(new Set(jobs)).toEqual(named)
  })

  test('the alerts are those of ops/prometheus/alerts.yml; `npm run kubernetes-alerts` writes them', async () => {
    const { groups } = parse(read('ops/prometheus/alerts.yml'))
    const rule = {
      apiVersion: 'monitoring.coreos.com/v1',
      kind: 'PrometheusRule',
      metadata: { name: 'outbound' },
      spec: { groups },
    }
    const header =
      '# ops/prometheus/alerts.yml for the Prometheus operator. Written by `npm run kubernetes-alerts`.\n'
    const file = '../../../ops/kubernetes/monitoring/alerts.yaml'
    await expect(header + stringify(rule, { lineWidth: 0 })).toMatchFileSnapshot(file)
  })
})
