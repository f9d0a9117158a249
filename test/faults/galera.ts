import { existsSync } from 'node:fs'
import { openServerFolder } from '../support/fault-programs.ts'
import { freePorts } from '../support/free-ports.ts'
import { installMariadb, mariadbParameters, missingServer, programOf } from './instance-kinds.ts'
import { type Instance, instanceOf } from './instances.ts'

const libraries = ['/usr/lib/galera/libgalera_smm.so', '/usr/lib64/galera-4/libgalera_smm.so']
const library = libraries.find(existsSync)

/** What is not installed of a Galera cluster, and how to get it; undefined when one can be started. */
export const missingGalera = (): string | undefined => {
  if (missingServer.MariaDB() !== undefined) return missingServer.MariaDB()
  if (library === undefined) return 'Galera is not installed: apt-get install galera-4'
  return programOf('rsync') ? undefined : 'rsync is not installed: apt-get install rsync'
}

/** Several servers that each hold everything and take writes. */
export interface Cluster {
  readonly nodes: readonly Instance[]
  /** The first founds the cluster, the others join it. */
  start(): Promise<void>
  close(): Promise<void>
}

/** Short, so that a node soon knows that it has lost the others. */
const timeouts =
  ';gcache.size=16M;evs.keepalive_period=PT0.3S;evs.inactive_check_period=PT0.3S;evs.suspect_timeout=PT1.5S;evs.inactive_timeout=PT4S'

const openNode = async (ports: readonly number[], members: readonly number[]): Promise<Instance> => {
  const [sql, group, increments, snapshots] = ports
  const folder = openServerFolder('mysql')
  const data = await installMariadb(folder)
  return instanceOf({
    folder,
    client: 'mysql2',
    url: `mysql://root@127.0.0.1:${sql}/test`,
    program: programOf('mariadbd') ?? 'mariadbd',
    parameters: [
      ...mariadbParameters(folder.path, data, sql),
      '--binlog-format=ROW',
      '--innodb-autoinc-lock-mode=2',
      '--innodb-flush-log-at-trx-commit=0',
      '--wsrep-on=ON',
      `--wsrep-provider=${library}`,
      '--wsrep-cluster-name=latchkey',
      `--wsrep-cluster-address=gcomm://${members.map((port) => `127.0.0.1:${port}`).join(',')}`,
      '--wsrep-node-address=127.0.0.1',
      `--wsrep-node-name=node-${sql}`,
      '--wsrep-sst-method=rsync',
      `--wsrep-sst-receive-address=127.0.0.1:${snapshots}`,
      `--wsrep-provider-options=gmcast.listen_addr=tcp://127.0.0.1:${group};ist.recv_addr=127.0.0.1:${increments}${timeouts}`,
      // A node answers a question when it has caught up with what the others had told it before.
      '--wsrep-sync-wait=1',
    ],
    stopSignal: 'SIGTERM',
    probe: `SELECT 1 FROM information_schema.global_status
      WHERE variable_name = 'WSREP_READY' AND variable_value = 'ON'`,
  })
}

/** A cluster of two that is not running yet. */
export const openCluster = async (): Promise<Cluster> => {
  const ports = await freePorts(8)
  const parts = [ports.slice(0, 4), ports.slice(4)]
  const members = parts.flatMap(([, group]) => group ?? [])
  const nodes = await Promise.all(parts.map((part) => openNode(part, members)))
  const [founder, joiner] = nodes
  return {
    nodes,
    start: async () => {
      await founder?.start(['--wsrep-new-cluster'])
      await joiner?.start()
    },
    close: async () => {
      for (const node of nodes) await node.close()
    },
  }
}
