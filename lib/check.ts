import type { Knex } from 'knex'
import type { Database } from './database/types.ts'
import type { Options } from './options/resolve.ts'

/**
 * How bad a finding is: an `error` makes requests fail or is a hole, a `warning` is probably one of the two, and a `note`
 * is worth a look.
 */
export type Level = 'error' | 'warning' | 'note'

/** What a check found. */
export interface Finding {
  readonly level: Level
  /** What is wrong, with the values that show it. */
  readonly message: string
  /** The line or command that mends it. */
  readonly fix: string
}

/** Versions that must fit together. */
export interface Versions {
  /** Of Node, without the `v`. */
  readonly node: string
  /** Of better-sqlite3; undefined if it is not installed. */
  readonly sqlite: string | undefined
}

/** What every check may look at. */
export interface Subject {
  readonly options: Options
  readonly versions: Versions
  /** Epoch seconds. */
  now(): number
}

/** The same with the database. */
export interface StoredSubject extends Subject {
  readonly database: Database
  /** The same pool with the names of the host, for its user table. */
  readonly hostKnex: Knex
}

/** One question about a server. */
export interface Check<S extends Subject> {
  /** Kebab-case, in JSON and in the documentation. */
  readonly id: string
  /** What is in order if the check finds nothing. */
  readonly title: string
  run(subject: S): readonly Finding[] | Promise<readonly Finding[]>
}

export const error = (message: string, fix: string): Finding => ({ level: 'error', message, fix })
export const warning = (message: string, fix: string): Finding => ({ level: 'warning', message, fix })
export const note = (message: string, fix: string): Finding => ({ level: 'note', message, fix })
