import { trace } from '@opentelemetry/api'
import type { HttpClient } from './http.ts'

/** Adds HTTP attributes to the span of the provider's call; never the path, which may contain secrets. */
export function traceHttp(client: HttpClient): HttpClient {
  return {
    ...client,
    async post(request, signal, moved) {
      const result = await client.post(request, signal, moved)
      const span = trace.getActiveSpan()
      if (!span?.isRecording()) return result
      const { protocol, hostname, port } = new URL(request.url)
      span.setAttributes({
        'http.request.method': 'POST',
        'url.scheme': protocol.slice(0, -1),
        'server.address': hostname,
        'server.port': Number(port) || (protocol === 'https:' ? 443 : 80),
        ...(result.kind === 'answer' && { 'http.response.status_code': result.status }),
      })
      return result
    },
  }
}
