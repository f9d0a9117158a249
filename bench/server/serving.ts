import type { RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Contestant, Storage } from '../contestants.ts'
import { answerParent } from '../messages.ts'
import { startProfile, stopProfile } from './profile.ts'
import type { Pruned } from './prune.ts'
import { type Settled, settled } from './settled.ts'
import { countStatements, type StatementCounts } from './statements.ts'

/** The settings that the parent passes to a server. */
export interface ServerSettings {
  /** An empty folder for the server. */
  readonly directory: string
  readonly storage: Storage
  readonly model?: Contestant['model']
  /** For PostgreSQL: its URL, and a schema for the server. */
  readonly postgres?: { readonly url: string; readonly schema: string }
  /** Creates tables, clients and users, and ends. */
  readonly prepare?: boolean
  /** Off where a measurement causes failures. @default true */
  readonly throttle?: boolean
  /** Cost of the users' bcrypt hashes. @default passwords are compared as they are */
  readonly passwordCost?: number
}

export interface Started {
  readonly listener: RequestListener
  /** The size of the database in bytes, after a checkpoint. */
  size?(): number | Promise<number>
  /** Adds this number of rows to each table of tokens, as copies of existing rows. */
  fill?(rows: number): void | Promise<void>
  /** Adds this number of expired access tokens. */
  expire?(rows: number): void
  /** Removes all expired rows. */
  prune?(): Promise<Pruned>
}

export interface Server {
  /** Creates tables, clients and users. */
  prepare(settings: ServerSettings): Promise<void>
  /** @param base the server's origin */
  start(settings: ServerSettings, base: string): Started | Promise<Started>
}

/** Resources of the whole process, with all threads. */
export interface Usage {
  /** Microseconds of processor time since its start. */
  readonly processor: number
  /** HTTP requests since its start. */
  readonly requests: number
  /** Bytes. */
  readonly resident: number
  readonly peakResident: number
}

const usage = (requests: number): Usage => {
  const { user, system } = process.cpuUsage()
  return {
    processor: user + system,
    requests,
    resident: process.memoryUsage.rss(),
    peakResident: process.resourceUsage().maxRSS * 1024,
  }
}

export interface ServerAnswers extends Record<string, (values: never) => unknown> {
  usage(): Usage
  settled(): Promise<Settled>
  size(): Promise<number>
  fill(rows: number): Promise<void>
  expire(rows: number): Promise<void>
  prune(): Promise<Pruned>
  /** Statements at the driver since the last call; the first call starts counting. */
  statements(): Promise<StatementCounts>
  startProfile(): Promise<void>
  stopProfile(): Promise<object>
}

const listen = async (server: Server, settings: ServerSettings): Promise<void> => {
  // As `app.listen` of Express does. An `import` would load Node's WebSocket and fetch in every server: 13 MB.
  const http = process.getBuiltinModule('node:http').createServer()
  // The issuer contains the port, so the server listens before it is configured.
  await new Promise<void>((done) => http.listen(0, '127.0.0.1', done))
  const base = `http://127.0.0.1:${(http.address() as AddressInfo).port}`
  const { listener, size, fill, expire, prune } = await server.start(settings, base)
  let requests = 0
  http.on('request', (req, res) => {
    requests += 1
    listener(req, res)
  })
  const answers: ServerAnswers = {
    usage: () => usage(requests),
    settled,
    size: async () => (await size?.()) ?? 0,
    fill: async (rows) => fill?.(rows),
    expire: async (rows) => expire?.(rows),
    prune: async () => {
      if (!prune) throw new Error('this server cannot prune')
      return prune()
    },
    statements: countStatements,
    startProfile,
    stopProfile,
  }
  answerParent(answers)
  process.send?.({ base })
}

/** Runs a server in this process, with the parent's settings. */
export const serve = async (server: Server): Promise<void> => {
  const settings: ServerSettings = JSON.parse(process.argv[2] ?? '{}')
  if (settings.prepare) await server.prepare(settings)
  else await listen(server, settings)
}
