import type { Agent } from 'node:http'
import type { Contestant } from '../contestants.ts'
import { type Algorithm, clientIds, type Person } from '../registrations.ts'

/** One of the concurrent clients, with its own user. */
export interface Worker {
  readonly agent: Agent
  readonly contestant: Contestant
  /** The server's origin. */
  readonly base: string
  readonly person: Person
  readonly algorithm: Algorithm
}

/** The URL of an endpoint of the server. */
export const urlOf = ({ contestant, base }: Worker, path: keyof Contestant['paths']): string =>
  `${base}${contestant.paths[path]}`

export const clientIdOf = ({ algorithm }: Worker): string => clientIds[algorithm]

/** Called once for each worker; returns the operation to repeat and measure. */
export type Prepare = (worker: Worker) => Promise<() => Promise<void>>
