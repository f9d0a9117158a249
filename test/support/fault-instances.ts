import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { accessSync, chownSync, constants, mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { type AddressInfo, createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/** A database server of a test's own, which it may stop, kill and start again. */
export interface Instance {
  readonly url: string
  /** Settles when it answers. */
  start(): Promise<void>
  /** As an administrator restarts it: connections are ended, nothing is lost. */
  stop(): Promise<void>
  /** As a power cut does. */
  kill(): Promise<void>
  /** Kills it and removes its files. */
  remove(): Promise<void>
}

/** A port that nobody listens at, now. */
export const freePort = async (): Promise<number> => {
  const server = createServer()
  await once(server.listen(0, '127.0.0.1'), 'listening')
  const { port } = server.address() as AddressInfo
  server.close()
  await once(server, 'close')
  return port
}

/** Database servers refuse to run as root; their packages bring users for them. */
interface Account {
  readonly uid?: number
  readonly gid?: number
}

const accountOf = (name: string): Account => {
  if (process.getuid?.() !== 0) return {}
  const id = (flag: string): number => Number(spawnSync('id', [flag, name], { encoding: 'utf8' }).stdout)
  return { uid: id('-u'), gid: id('-g') }
}

export const run = (program: string, parameters: readonly string[], account: Account = {}): void => {
  const { status, stderr, error } = spawnSync(program, parameters, {
    ...account,
    cwd: tmpdir(),
    encoding: 'utf8',
    env: { PATH: process.env.PATH, LC_ALL: 'C' },
    timeout: 60_000,
  })
  if (status !== 0) throw error ?? new Error(`${program} ended with ${status}: ${stderr}`)
}

const newFolder = ({ uid, gid }: Account): string => {
  const folder = mkdtempSync(join(tmpdir(), 'latchkey-instance-'))
  if (uid !== undefined && gid !== undefined) chownSync(folder, uid, gid)
  return folder
}

/** How to run one kind of server. */
interface Daemon {
  readonly url: string
  readonly folder: string
  readonly account: Account
  readonly command: readonly [program: string, ...parameters: string[]]
  readonly stopSignal: NodeJS.Signals
  /** Fails until it answers. */
  readonly probe: () => Promise<unknown>
}

/** A minute at most; a server that ends before it answers will not. */
const untilAnswering = async (child: ChildProcess, probe: () => Promise<unknown>): Promise<void> => {
  for (let attempt = 0; attempt < 600; attempt += 1) {
    if (child.exitCode !== null) throw new Error(`the database server ended with ${child.exitCode}`)
    if (await probe().then(() => true, () => false)) return
    await new Promise((resolve) => setTimeout(resolve, 100))
  }
  throw new Error('the database server does not answer')
}

export const instanceOf = ({ url, folder, account, command, stopSignal, probe }: Daemon): Instance => {
  let child: ChildProcess | undefined
  const end = async (signal: NodeJS.Signals): Promise<void> => {
    const ending = child
    child = undefined
    if (ending === undefined || ending.exitCode !== null || ending.signalCode !== null) return
    const ended = once(ending, 'exit')
    ending.kill(signal)
    await ended
  }
  return {
    url,
    start: async () => {
      const [program, ...parameters] = command
      const started = spawn(program, parameters, { ...account, cwd: folder, stdio: 'ignore', env: { LC_ALL: 'C' } })
      child = started
      await untilAnswering(started, probe)
    },
    stop: () => end(stopSignal),
    kill: () => end('SIGKILL'),
    remove: async () => {
      await end('SIGKILL')
      rmSync(folder, { recursive: true, force: true })
    },
  }
}

const isExecutable = (path: string): boolean => {
  try {
    accessSync(path, constants.X_OK)
    return true
  } catch {
    return false
  }
}

const postgresqlPrograms = (): string | undefined => {
  const base = '/usr/lib/postgresql'
  try {
    const versions = readdirSync(base).sort((one, other) => Number(one) - Number(other))
    return versions.map((version) => `${base}/${version}/bin`).findLast((bin) => isExecutable(`${bin}/initdb`))
  } catch {
    return undefined
  }
}

const mariadbPrograms = ['/usr/sbin/mariadbd', '/usr/bin/mariadb-install-db']

/** Whether the programs of a server are on this machine. */
export const hasPrograms = {
  PostgreSQL: (): boolean => postgresqlPrograms() !== undefined,
  MariaDB: (): boolean => mariadbPrograms.every(isExecutable),
}

/** A fresh PostgreSQL that listens on loopback alone. */
export const newPostgresql = async (): Promise<Instance> => {
  const bin = postgresqlPrograms()
  const account = accountOf('postgres')
  const folder = newFolder(account)
  const port = await freePort()
  const data = join(folder, 'data')
  run(`${bin}/initdb`, ['-D', data, '-U', 'postgres', '-A', 'trust', '-E', 'UTF8'], account)
  const url = `postgres://postgres@127.0.0.1:${port}/postgres`
  const { Client } = (await import('pg')).default
  return instanceOf({
    url,
    folder,
    account,
    command: [
      `${bin}/postgres`,
      ...['-D', data, '-p', String(port), '-c', 'listen_addresses=127.0.0.1', '-k', folder],
    ],
    stopSignal: 'SIGINT',
    probe: async () => {
      const client = new Client({ connectionString: url, connectionTimeoutMillis: 2000 })
      client.on('error', () => {})
      await client.connect()
      await client.end()
    },
  })
}

/** The data of a fresh MariaDB in which root needs no password. */
export const newMariadbData = (): { folder: string; data: string; account: Account } => {
  const account = accountOf('mysql')
  const folder = newFolder(account)
  const data = join(folder, 'data')
  run(
    '/usr/bin/mariadb-install-db',
    ['--no-defaults', `--datadir=${data}`, '--auth-root-authentication-method=normal', '--skip-test-db'],
    account,
  )
  return { folder, data, account }
}

export const mariadbProbe = (url: string) => async (): Promise<void> => {
  const { createConnection } = await import('mysql2/promise')
  const connection = await createConnection({ uri: url, connectTimeout: 2000 })
  await connection.query('CREATE DATABASE IF NOT EXISTS test')
  await connection.end()
}

/** A fresh MariaDB that listens on loopback alone. */
export const newMariadb = async (): Promise<Instance> => {
  const { folder, data, account } = newMariadbData()
  const port = await freePort()
  const server = `mysql://root@127.0.0.1:${port}/`
  return instanceOf({
    url: `${server}test`,
    folder,
    account,
    command: [
      '/usr/sbin/mariadbd',
      ...['--no-defaults', `--datadir=${data}`, `--socket=${folder}/socket`, `--pid-file=${folder}/pid`],
      ...[`--port=${port}`, '--bind-address=127.0.0.1', '--skip-log-bin', '--innodb-buffer-pool-size=32M'],
    ],
    stopSignal: 'SIGTERM',
    probe: mariadbProbe(server),
  })
}
