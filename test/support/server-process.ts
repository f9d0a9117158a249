// A server in a process of its own, for tests of several on one database.
// It loads everything, says so, and starts a server each time the parent asks, all at the same moment.
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import express from 'express'
import type { Knex } from 'knex'
import { authRouter } from '../../lib/index.ts'

/** What the parent asks for. */
export interface StartServer {
  readonly database: Knex.Config
  readonly tablePrefix: string
  readonly secret: string
  readonly refreshTokenGracePeriod: number
}

/** What it hears: first that the process is loaded, then of each server its port, or why there is none. */
export type ServerReport = { readonly loaded: true } | { readonly port: number } | { readonly fault: string }

const report = (message: ServerReport): void => {
  process.send?.(message)
}

const start = async ({
  database,
  tablePrefix,
  secret,
  refreshTokenGracePeriod,
}: StartServer): Promise<void> => {
  const oauth = authRouter({
    issuer: 'http://localhost:3000/oauth',
    database,
    tablePrefix,
    secrets: [secret],
    refreshTokenGracePeriod,
    logger: { info: () => {}, warn: () => {}, error: () => {} },
  })
  await oauth.ready()
  const server = createServer(express().use('/oauth', oauth))
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening))
  report({ port: (server.address() as AddressInfo).port })
}

process.on('message', (message: StartServer) => {
  start(message).catch((error: unknown) => report({ fault: String(error) }))
})
// The parent is gone, or done.
process.on('disconnect', () => process.exit(0))
report({ loaded: true })
