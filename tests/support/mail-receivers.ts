import { afterAll } from 'vitest'
import { openSmtpEmulator } from '../../src/providers/smtp/dev/emulator.ts'
import { openWebhookReceiver } from './webhook-receiver.ts'

/** The servers that channels of `smtp` and `webhook` send mail to, until the tests of the file are over. */
export async function openMailReceivers() {
  const receiver = await openWebhookReceiver()
  const mailServer = await openSmtpEmulator()
  afterAll(async () => {
    await receiver.stop()
    await mailServer.stop()
  })
  return { receiver, mailServer }
}
