// The kit in a process of its own, as a host runs it, on a pool that it opens itself.
// What it logs, it prints.
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import express from 'express'
import type { Knex } from 'knex'
import { type AuthRouterOptions, authRouter } from '../../lib/index.ts'

/** Options as they can be sent: no functions. */
export interface StartKit extends Omit<AuthRouterOptions, 'database' | 'logger'> {
  readonly database: Knex.Config
}

/** What the parent hears: first that everything is loaded, then where it listens, or why it does not. */
export type KitReport = { readonly loaded: true } | { readonly port: number } | { readonly fault: string }

const report = (message: KitReport): void => {
  process.send?.(message)
}

const start = async (options: StartKit): Promise<void> => {
  const oauth = authRouter({ issuer: 'http://localhost:3000/oauth', ...options })
  await oauth.ready()
  const server = createServer(express().use('/oauth', oauth))
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening))
  report({ port: (server.address() as AddressInfo).port })
}

process.on('message', (options: StartKit) => {
  start(options).catch((error: unknown) => report({ fault: String(error) }))
})
// The parent is gone, or done.
process.on('disconnect', () => process.exit(0))
report({ loaded: true })
