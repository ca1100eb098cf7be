import { type AdminApp, type AdminRuntime, factory } from '../context.ts'
import { Layout } from '../layout.tsx'

export function support(_runtime: AdminRuntime): AdminApp {
  const app: AdminApp = factory.createApp()
  app.get('/', (c) =>
    c.html(
      <Layout title="Support" at="/support">
        <h1>Support</h1>
      </Layout>,
    ),
  )
  return app
}
