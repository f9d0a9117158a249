// Latchkey in a process of its own, as a host runs it. It can be killed at any statement.
// It loads everything, says so, and starts a server each time the parent asks.
import { createServer } from 'node:http'
import express from 'express'
import knex, { type Knex } from 'knex'
import { type AuthRouterOptions, authRouter } from '../../lib/index.ts'
import type { Thing } from '../../lib/protocol/things.ts'
import { listenOn } from './client-server.ts'
import { sqlitePragmas } from './fault-pragmas.ts'
import { type Verdict, watched } from './fault-statements.ts'

/** Options as they can be sent: no functions. */
export interface StartFaultServer extends Omit<AuthRouterOptions, 'database'> {
  readonly database: { readonly knex: Knex.Config; readonly tablePrefix?: string; readonly prune?: boolean }
  /** Whether it counts statements, for `dieAt`; else Latchkey opens the database by itself, as in production. */
  readonly counting?: boolean
  /** Whether it prints what it logs. */
  readonly printing?: boolean
  /** The address that answers which projects users may give to clients; without it they choose nothing. */
  readonly projectsAt?: string
}

/** What the parent asks for. */
export type FaultServerMessage =
  | { readonly start: StartFaultServer }
  /** From now on count statements and end, as a power cut would, at this one; the first is 1. */
  | { readonly dieAt: number; readonly when: DeathPoint }

/** Instead of running a statement, or after it ran and before anyone hears of it. */
export type DeathPoint = 'before' | 'after'

/** What it hears. */
export type FaultServerReport =
  | { readonly loaded: true }
  | { readonly port: number }
  | { readonly armed: true }
  | { readonly fault: string }

const report = (message: FaultServerReport): void => {
  process.send?.(message)
}

let toGo: number | undefined
let point: DeathPoint = 'before'

const die = (): Error => {
  process.kill(process.pid, 'SIGKILL')
  return new Error('this process has ended')
}

const countDown = (): Verdict => {
  if (toGo !== undefined) toGo -= 1
  if (toGo !== 0) return 'run'
  return point === 'before' ? { fails: die() } : { loses: die }
}

const silent = { info: () => {}, warn: () => {}, error: () => {} }

const choicesFrom = (address: string | undefined): AuthRouterOptions['choices'] => {
  if (address === undefined) return undefined
  const things = async () => (await (await fetch(address)).json()) as Thing[]
  return {
    project: {
      name: { one: 'project', other: 'projects' },
      scopes: ['notes:read'],
      list: async () => ({ items: await things() }),
      find: async (_user, { ids }) => (await things()).filter(({ id }) => ids.includes(id)),
    },
  }
}

const start = async ({
  database,
  counting,
  printing,
  projectsAt,
  ...options
}: StartFaultServer): Promise<void> => {
  const oauth = authRouter({
    issuer: 'http://localhost:3000/oauth',
    ...(!printing && { logger: silent }),
    ...options,
    choices: choicesFrom(projectsAt),
    database: {
      ...database,
      ...(counting && { knex: knex(watched(database.knex, countDown, sqlitePragmas)) }),
    },
  })
  await oauth.ready()
  const app = express().set('trust proxy', 'loopback').use('/oauth', oauth)
  // What a host does when a user has a new password, or leaves.
  for (const what of ['revokeAll', 'erase'] as const) {
    app.post(`/users/:id/${what}`, (req, res, next) => {
      oauth.users[what](req.params.id).then(() => res.sendStatus(204), next)
    })
  }
  report({ port: await listenOn(createServer(app)) })
}

process.on('message', (message: FaultServerMessage) => {
  if ('dieAt' in message) {
    toGo = message.dieAt
    point = message.when
    return report({ armed: true })
  }
  start(message.start).catch((error: unknown) => report({ fault: String(error) }))
})
// The parent is gone, or done.
process.on('disconnect', () => process.exit(0))
report({ loaded: true })
