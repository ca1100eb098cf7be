import { execFile } from 'node:child_process'
import { expect, test } from 'vitest'
import { emulatedProviders } from '../../../src/dev/world/emulators.ts'
import { freshStores } from '../../support/stores.ts'

/** Runs the demo on stores of its own. */
async function demo(settings: Record<string, string>): Promise<{ status: number | null; output: string }> {
  const { databaseUrl, redisUrl } = await freshStores()
  const env = { ...process.env, DATABASE_URL: databaseUrl, REDIS_URL: redisUrl, ...settings }
  return await new Promise((resolve) => {
    const child = execFile('npm', ['run', '-s', 'demo'], { env }, (_error, output) =>
      resolve({ status: child.exitCode, output }),
    )
  })
}

test('the demo shows a send through every provider, with what its emulator received, and no secret', async () => {
  const { status, output } = await demo({})
  expect(status).toBe(0)
  expect(output).toContain(`All ${6 + emulatedProviders.length} sends ended as expected.`)
  for (const provider of emulatedProviders) expect(output).toMatch(new RegExp(`^.* by ${provider}$`, 'm'))
  expect(output).toMatch(/ sent, read {2}text to /)
  expect(output).toMatch(/^ {2}\S+ {2}undelivered .* there is no such mailbox, as the provider reports/m)
  expect(output.match(/^ {2}the emulator received {2}./gm)).toHaveLength(emulatedProviders.length)
  expect(output).not.toMatch(/whsec_|omk_|bearer|basic|token|\/media\//i)
})

test('the demo exits with 1 if a send has an unexpected result, and says which', async () => {
  const { status, output } = await demo({
    RETRY_DELAYS_SECONDS: '0',
    ALLOWED_PRIVATE_NETWORKS: '10.0.0.0/8',
  })
  expect(status).toBe(1)
  expect(output).toContain('A text that goes through at the third attempt  EXPECTED sent after 3 attempts')
  expect(output).toContain('A text by webhook  EXPECTED sent after 1 attempts')
  expect(output).toContain('the emulator received  NOTHING')
})
