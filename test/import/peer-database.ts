import { execFile } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { join } from 'node:path'
import { promisify } from 'node:util'
import knex, { type Knex } from 'knex'
import { services } from '../support/services.ts'

const clients = { postgresql: 'pg', mariadb: 'mysql2' } as const

export type PeerService = keyof typeof clients

/** An empty database of another server. */
export interface PeerDatabase {
  readonly url: string
  readonly knex: Knex
  drop(): Promise<void>
}

export const createPeerDatabase = async (service: PeerService): Promise<PeerDatabase> => {
  const server = knex({ client: clients[service], connection: services[service], pool: { min: 0, max: 1 } })
  const name = `peer_${randomBytes(4).toString('hex')}`
  await server.raw('create database ??', [name])
  const url = services[service].replace(/\/[^/]*$/, `/${name}`)
  const own = knex({ client: clients[service], connection: url, pool: { min: 0, max: 1 } })
  return {
    url,
    knex: own,
    drop: async () => {
      await own.destroy()
      await server.raw('drop database ??', [name])
      await server.destroy()
    },
  }
}

const execute = promisify(execFile)

/** Runs a program of this folder that fills the database of another server, and returns the JSON that it prints. */
export const fill = async <T>(command: string, program: string, url: string): Promise<T> => {
  const { stdout } = await execute(command, [join(__dirname, program), url])
  return JSON.parse(stdout)
}
