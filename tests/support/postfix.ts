import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmod, chown, mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { createConnection } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { debianBinary } from '../../src/dev/embedded/debian-binary.ts'
import { cert, key } from './certificate.ts'
import { portToKeep } from './port.ts'
import { eventually } from './wait.ts'

export interface Postfix {
  port: number
  /** The mails of ann@example.com, as they lie in her mailbox, the oldest first. */
  mails(): Promise<Buffer[]>
  /** The lines that it has logged. */
  log(): Promise<string>
  stop(): Promise<void>
}

/** Its master and its mailboxes need users of their own; these are on every Debian. */
const owner = { uid: 8, gid: 8 }
const mailboxes = { uid: 65534, gid: 65534 }
const queues =
  'active bounce corrupt defer deferred flush hold incoming maildrop pid private public saved trace'.split(
    ' ',
  )

/** Postfix changes to several users, so it starts only as root. */
export const canRunPostfix = process.getuid?.() === 0

/**
 * Starts Debian's Postfix, not installed, with one mailbox: ann@example.com. It offers STARTTLS.
 *
 * @param settings of main.cf, over those of the tests.
 */
export async function startPostfix(settings: Record<string, string> = {}): Promise<Postfix> {
  const { file, env } = await debianBinary({
    what: 'Postfix',
    names: ['postconf'],
    path: 'usr/sbin/postconf',
    // It has no such option, and says how it is used.
    versionStatus: 1,
    package: { choices: [['postfix']], withDependencies: true },
    advice: 'put it on PATH, e.g. with `apt-get install postfix`.',
  })
  const root = file.replace(/usr\/sbin\/postconf$/, '')
  const folder = await mkdtemp(join(tmpdir(), 'postfix-'))
  const port = await portToKeep()
  const paths = await layOut(folder)
  const libraries = [join(root, 'usr/lib/postfix'), env.LD_LIBRARY_PATH].filter(Boolean).join(':')
  const all = {
    compatibility_level: '3.6',
    queue_directory: paths.queue,
    data_directory: paths.data,
    command_directory: join(root, 'usr/sbin'),
    daemon_directory: join(root, 'usr/lib/postfix/sbin'),
    shlib_directory: join(root, 'usr/lib/postfix'),
    meta_directory: join(root, 'etc/postfix'),
    mail_owner: 'mail',
    setgid_group: 'games',
    default_privs: 'nobody',
    import_environment: 'MAIL_CONFIG LD_LIBRARY_PATH',
    maillog_file: paths.log,
    maillog_file_prefixes: folder,
    inet_interfaces: '127.0.0.1',
    inet_protocols: 'ipv4',
    myhostname: 'mail.example.org',
    mynetworks: '127.0.0.0/8',
    mydestination: '',
    smtpd_tls_cert_file: paths.cert,
    smtpd_tls_key_file: paths.key,
    smtpd_tls_security_level: 'may',
    smtpd_tls_loglevel: '1',
    virtual_mailbox_domains: 'example.com',
    virtual_mailbox_maps: 'inline:{ann@example.com=ann/}',
    virtual_mailbox_base: paths.mail,
    virtual_uid_maps: `static:${mailboxes.uid}`,
    virtual_gid_maps: `static:${mailboxes.gid}`,
    ...settings,
  }
  await writeFile(join(paths.config, 'main.cf'), lines(all))
  await writeFile(join(paths.config, 'master.cf'), services(port))
  const child = spawn(join(root, 'usr/lib/postfix/sbin/master'), ['-c', paths.config, '-d'], {
    env: { PATH: process.env.PATH, MAIL_CONFIG: paths.config, LD_LIBRARY_PATH: libraries },
    stdio: ['ignore', 'ignore', 'pipe'],
  })
  let errors = ''
  child.stderr.on('data', (chunk) => (errors += chunk))
  await eventually('Postfix', async () => {
    if (child.exitCode !== null) throw new Error(`Postfix ended: ${errors}`)
    return await greets(port)
  })
  return {
    port,
    async mails() {
      const names = await readdir(join(paths.mail, 'ann/new')).catch(() => [])
      return await Promise.all(names.sort().map((name) => readFile(join(paths.mail, 'ann/new', name))))
    },
    log: () => readFile(paths.log, 'utf8').catch(() => ''),
    async stop() {
      const exited = once(child, 'exit')
      if (child.exitCode === null && child.kill()) await exited
      await rm(folder, { recursive: true, force: true })
    },
  }
}

/** Creates the folders with the owners that Postfix demands. */
async function layOut(folder: string) {
  await chmod(folder, 0o755)
  const at = (name: string) => join(folder, name)
  for (const name of ['config', 'queue', 'data', 'mail']) await mkdir(at(name))
  await chown(at('data'), owner.uid, owner.gid)
  await chown(at('mail'), mailboxes.uid, mailboxes.gid)
  for (const name of queues) {
    const queue = join(at('queue'), name)
    await mkdir(queue)
    if (name !== 'pid') await chown(queue, owner.uid, owner.gid)
    await chmod(queue, name === 'public' || name === 'pid' ? 0o755 : 0o700)
  }
  await writeFile(at('cert.pem'), cert)
  await writeFile(at('key.pem'), key, { mode: 0o600 })
  return {
    config: at('config'),
    queue: at('queue'),
    data: at('data'),
    mail: at('mail'),
    log: at('mail.log'),
    cert: at('cert.pem'),
    key: at('key.pem'),
  }
}

const lines = (settings: Record<string, string>) =>
  Object.entries(settings)
    .map(([name, value]) => `${name} = ${value}\n`)
    .join('')

/** master.cf of the distribution, as far as mails come in by SMTP and go to mailboxes. */
const services = (port: number) => `
127.0.0.1:${port} inet n - n - - smtpd
pickup unix n - n 60 1 pickup
cleanup unix n - n - 0 cleanup
qmgr unix n - n 300 1 qmgr
rewrite unix - - n - - trivial-rewrite
tlsmgr unix - - n 1000? 1 tlsmgr
bounce unix - - n - 0 bounce
defer unix - - n - 0 bounce
trace unix - - n - 0 bounce
verify unix - - n - 1 verify
proxymap unix - - n - - proxymap
virtual unix - n n - - virtual
smtp unix - - n - - smtp
error unix - - n - - error
anvil unix - - n - 1 anvil
scache unix - - n - 1 scache
postlog unix-dgram n - n - 1 postlogd
`

/** Whether it answers, as a whole: it opens its port before its other services are there. */
function greets(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = createConnection({ port, host: '127.0.0.1' })
    const end = (isUp: boolean) => {
      socket.destroy()
      resolve(isUp)
    }
    socket.once('data', (data) => end(data.toString().startsWith('220')))
    socket.once('error', () => end(false))
    socket.setTimeout(2000, () => end(false))
  })
}
