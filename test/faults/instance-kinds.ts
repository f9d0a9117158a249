import { existsSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import type { DatabaseKind } from '../support/fault-databases.ts'
import { openServerFolder, type ServerFolder } from '../support/fault-programs.ts'
import { freePort } from '../support/free-ports.ts'
import { type Instance, instanceOf } from './instances.ts'

/** Where programs may be that are not on the PATH. */
const folders = (process.env.PATH ?? '').split(':').concat('/usr/sbin', '/usr/local/sbin')

/** Where a program is, if it is installed. */
export const programOf = (name: string): string | undefined =>
  folders.map((folder) => join(folder, name)).find(existsSync)

const debian = '/usr/lib/postgresql'

/** Debian has one folder for each version; the newest is taken. */
const postgresqlProgram = (name: string): string | undefined => {
  const versions = existsSync(debian) ? readdirSync(debian) : []
  const byAge = versions.sort((one, other) => Number(one) - Number(other))
  const paths = byAge.map((version) => join(debian, version, 'bin', name)).filter(existsSync)
  return paths.at(-1) ?? programOf(name)
}

type ServerKind = Exclude<DatabaseKind, 'SQLite'>

/** What is not installed of a server, and how to get it; undefined when it can be started. */
export const missingServer: Readonly<Record<ServerKind, () => string | undefined>> = {
  PostgreSQL: () =>
    postgresqlProgram('initdb') ? undefined : 'PostgreSQL is not installed: apt-get install postgresql',
  MariaDB: () =>
    programOf('mariadbd') && programOf('mariadb-install-db')
      ? undefined
      : 'MariaDB is not installed: apt-get install mariadb-server',
}

const openPostgresql = async (extra: readonly string[]): Promise<Instance> => {
  const port = await freePort()
  const folder = openServerFolder('postgres')
  const data = join(folder.path, 'data')
  await folder.run(postgresqlProgram('initdb') ?? 'initdb', [
    '--pgdata',
    data,
    '--username',
    'postgres',
    '--auth',
    'trust',
    '--encoding',
    'UTF8',
    '--locale',
    'C',
    '--no-sync',
  ])
  return instanceOf({
    folder,
    client: 'pg',
    url: `postgres://postgres@127.0.0.1:${port}/postgres`,
    program: postgresqlProgram('postgres') ?? 'postgres',
    parameters: [
      '-D',
      data,
      '-p',
      String(port),
      '-c',
      'listen_addresses=127.0.0.1',
      '-c',
      'unix_socket_directories=',
      '-c',
      'shared_buffers=16MB',
      '-c',
      'max_connections=30',
      ...extra,
    ],
    // Fast, as init systems do it: SIGTERM would wait until the last client has gone.
    stopSignal: 'SIGINT',
  })
}

/** An empty data folder in which root may come in by TCP without a password. */
export const installMariadb = async (folder: ServerFolder): Promise<string> => {
  const data = join(folder.path, 'data')
  await folder.run('mariadb-install-db', [
    '--no-defaults',
    `--datadir=${data}`,
    '--auth-root-authentication-method=normal',
    '--skip-name-resolve',
    '--innodb-log-file-size=8M',
    '--innodb-flush-log-at-trx-commit=0',
  ])
  return data
}

/** What every MariaDB of the tests is started with. */
export const mariadbParameters = (path: string, data: string, port: number | undefined): string[] => [
  '--no-defaults',
  `--datadir=${data}`,
  `--socket=${join(path, 'socket')}`,
  `--pid-file=${join(path, 'pid')}`,
  '--bind-address=127.0.0.1',
  `--port=${port}`,
  '--skip-name-resolve',
  '--performance-schema=OFF',
  '--innodb-log-file-size=8M',
  '--innodb-buffer-pool-size=32M',
]

const openMariadb = async (extra: readonly string[]): Promise<Instance> => {
  const port = await freePort()
  const folder = openServerFolder('mysql')
  const data = await installMariadb(folder)
  return instanceOf({
    folder,
    client: 'mysql2',
    url: `mysql://root@127.0.0.1:${port}/test`,
    program: programOf('mariadbd') ?? 'mariadbd',
    parameters: [...mariadbParameters(folder.path, data, port), ...extra],
    stopSignal: 'SIGTERM',
  })
}

/**
 * A server of this kind with an empty database, not running yet.
 *
 * @param extra parameters for it
 */
export const openInstance = (kind: ServerKind, extra: readonly string[] = []): Promise<Instance> =>
  kind === 'PostgreSQL' ? openPostgresql(extra) : openMariadb(extra)
