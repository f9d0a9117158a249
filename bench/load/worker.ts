import type { Agent } from 'node:http'
import type { Contestant } from '../contestants.ts'
import { type Algorithm, clientIds, type Person } from '../registrations.ts'

/** One of the clients that ask at the same time, with a user of its own. */
export interface Worker {
  readonly agent: Agent
  readonly contestant: Contestant
  /** The server's origin. */
  readonly base: string
  readonly person: Person
  readonly algorithm: Algorithm
}

/** Where this server has an endpoint. */
export const urlOf = ({ contestant, base }: Worker, path: keyof Contestant['paths']): string =>
  `${base}${contestant.paths[path]}`

export const clientIdOf = ({ algorithm }: Worker): string => clientIds[algorithm]

/** Asked once for each worker; what it gives is then done again and again, and measured. */
export type Prepare = (worker: Worker) => Promise<() => Promise<void>>
