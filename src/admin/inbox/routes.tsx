import { type AdminApp, type AdminRuntime, factory } from '../context.ts'
import { Layout } from '../layout.tsx'

export function inbox(_runtime: AdminRuntime): AdminApp {
  const app: AdminApp = factory.createApp()
  app.get('/', (c) =>
    c.html(
      <Layout title="Inbox" at="/inbox">
        <h1>Inbox</h1>
      </Layout>,
    ),
  )
  return app
}
