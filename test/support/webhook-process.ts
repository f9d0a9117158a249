// A host in a process of its own that stores events and sends them as webhooks.

import knex, { type Knex } from 'knex'
import { webhooks } from '../../lib/features/index.ts'
import { authRouter } from '../../lib/index.ts'
import { serverBehind } from '../../lib/router.ts'

/** How the process begins. */
export interface WebhookProcess {
  readonly config: Knex.Config
  readonly tablePrefix: string
  readonly url: string
  readonly secret: string
  /** Seconds by which its clock is ahead. */
  readonly ahead: number
}

/** Events that the process announces, in order. */
export interface Announced {
  /** So many users, `<name>-0` and so on. */
  readonly name: string
  readonly users: number
  /** For each of them so many events, whose reasons count from 0. */
  readonly each: number
}

/** Revokes everything of one user after another, `<name>-0` and so on, and says of each when it is done. */
export interface Revoking {
  readonly revoking: string
}

const quiet = { info: () => {}, warn: () => {}, error: () => {} }

/** The log of events takes ten thousand at most, so the caller asks for fewer at once. */
const announce = async (server: ReturnType<typeof open>, { name, users, each }: Announced): Promise<void> => {
  for (let reason = 0; reason < each; reason += 1)
    for (let user = 0; user < users; user += 1)
      await server.events.change(server.database, (_, tell) =>
        tell('user.revoked', undefined, { subject: `${name}-${user}`, reason: String(reason) }),
      )
  await server.eventLog?.settled()
}

let router: ReturnType<typeof authRouter> | undefined
const open = ({ config, tablePrefix, url, secret, ahead }: WebhookProcess) => {
  const realTime = Date.now
  Date.now = () => realTime() + ahead * 1000
  const oauth = authRouter({
    issuer: 'http://localhost:3000/oauth',
    database: { knex: knex(config), tablePrefix, prune: false },
    logger: quiet,
    session: 'own',
    secrets: ['a secret of the tests that is long enough'],
    users: { find: () => undefined, authenticate: () => undefined },
    storedEvents: true,
    features: [webhooks({ endpoints: { test: { url, secrets: [secret], events: ['user.*'] } } })],
  })
  router = oauth
  const server = serverBehind(oauth)
  if (server === undefined) throw new Error('no server')
  return server
}

let server: ReturnType<typeof open> | undefined
const revokeMany = async ({ revoking }: Revoking): Promise<void> => {
  for (let user = 0; ; user += 1) {
    const subject = `${revoking}-${user}`
    await router?.users.revokeAll(subject)
    process.send?.({ revoked: subject })
  }
}

const handle = async (message: WebhookProcess | Announced | Revoking): Promise<void> => {
  if ('revoking' in message) return revokeMany(message)
  if ('url' in message) {
    server = open(message)
    await server.ready()
  } else if (server) await announce(server, message)
}

process.on('message', (message: WebhookProcess | Announced | Revoking) => {
  handle(message).then(
    () => process.send?.({ done: true }),
    (error: unknown) => process.send?.({ fault: String(error) }),
  )
})
// The parent is gone, or done.
process.on('disconnect', () => process.exit(0))
