import { type Binary, debianBinary } from './debian-binary.ts'

/** Prometheus's checker of rules and metrics. It needs no library, so the package is fetched without dependencies. */
export function promtoolBinary(): Promise<Binary> {
  return debianBinary({
    what: 'promtool',
    names: ['promtool'],
    package: { choices: [['prometheus']], withDependencies: false },
    advice: 'put it on PATH, e.g. with `apt-get install prometheus`.',
  })
}
