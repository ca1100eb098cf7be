import { expect, onTestFinished, test } from 'vitest'
import { build } from '../../src/platform/process/build.ts'
import { startTestAdmin } from '../support/admin.ts'
import { getPage } from '../support/pages.ts'
import { serviceOfFile } from '../support/service.ts'

const service = await serviceOfFile()

async function footOf(settings: Record<string, string>) {
  const admin = await startTestAdmin(service, settings)
  onTestFinished(() => admin.stop())
  const { html } = await getPage(`${admin.url}/channels`)
  return /<p class="foot">.*?<\/p>/s.exec(html)?.[0]
}

test('the foot of a page has the version, and leads to what is new where the address of the API is known', async () => {
  const foot = await footOf({})
  expect(foot).toContain(`Version ${build.version}`)
  expect(foot).not.toContain('href')
  const leading = await footOf({ PUBLIC_BASE_URL: 'https://messages.example.com/' })
  expect(leading).toContain('href="https://messages.example.com/docs/changelog"')
})
