import { createServer, type RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Contestant, Storage } from '../contestants.ts'
import { answerParent } from '../messages.ts'
import type { CleanedUp } from './clean-up.ts'
import { startProfile, stopProfile } from './profile.ts'
import { type Settled, settled } from './settled.ts'
import { countStatements, type StatementCounts } from './statements.ts'

/** What the parent says when it starts a server. */
export interface ServerSettings {
  /** An empty folder that is the server's own. */
  readonly directory: string
  readonly storage: Storage
  readonly model?: Contestant['model']
  /** For PostgreSQL: where, and a schema of the server's own. */
  readonly postgres?: { readonly url: string; readonly schema: string }
  /** Only makes tables, clients and users, and ends. */
  readonly prepare?: boolean
  /** Off where failures are measured. @default true */
  readonly throttle?: boolean
  /** Cost of the users' bcrypt hashes. @default passwords are compared as they are */
  readonly passwordCost?: number
}

export interface Started {
  readonly listener: RequestListener
  /** Bytes of the database, once what waits in its log has been moved there. */
  size?(): number | Promise<number>
  /** Adds so many rows to each table of tokens, shaped as those that are there. */
  fill?(rows: number): void | Promise<void>
  /** Adds so many access tokens that have expired. */
  expire?(rows: number): void
  /** Removes everything that has expired. */
  cleanUp?(): Promise<CleanedUp>
}

export interface Server {
  /** Makes tables, clients and users. */
  prepare(settings: ServerSettings): Promise<void>
  /** @param base the origin at which it will listen */
  start(settings: ServerSettings, base: string): Started | Promise<Started>
}

/** Of the whole process, its threads included. */
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
  cleanUp(): Promise<CleanedUp>
  /** Statements at the driver since the last call; the first call begins to count. */
  statements(): Promise<StatementCounts>
  startProfile(): Promise<void>
  stopProfile(): Promise<object>
}

const listen = async (server: Server, settings: ServerSettings): Promise<void> => {
  const http = createServer()
  // The port must be known before the issuer is; nobody is told of it before everything is there.
  await new Promise<void>((done) => http.listen(0, '127.0.0.1', done))
  const base = `http://127.0.0.1:${(http.address() as AddressInfo).port}`
  const { listener, size, fill, expire, cleanUp } = await server.start(settings, base)
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
    cleanUp: async () => {
      if (!cleanUp) throw new Error('this server has nothing to clean up with')
      return cleanUp()
    },
    statements: countStatements,
    startProfile,
    stopProfile,
  }
  answerParent(answers)
  process.send?.({ base })
}

/** Runs a server in this process, as the parent's settings say. */
export const serve = async (server: Server): Promise<void> => {
  const settings: ServerSettings = JSON.parse(process.argv[2] ?? '{}')
  if (settings.prepare) await server.prepare(settings)
  else await listen(server, settings)
}
