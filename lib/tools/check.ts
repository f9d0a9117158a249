import type { Knex } from 'knex'
import type { Options } from '../options/options.ts'
import type { Database } from '../storage/database/types.ts'
import type { SelfReport } from '../web/endpoints/self-report.ts'

/** An answer of the running app. */
export interface AppAnswer {
  readonly status: number
  readonly headers: Headers
  /** The body. */
  readonly text: string
  /** The body if it is a JSON object, else undefined. */
  readonly json: Readonly<Record<string, unknown>> | undefined
}

/** A running server. */
export interface Mount {
  /** The URL of the mount, without a trailing slash. */
  readonly url: string
  /** The discovery document below the mount. */
  readonly discovery: AppAnswer
  /** The app's report about itself; undefined if it does not recognize our secret. */
  readonly report: SelfReport | undefined
  /** The lines `Set-Cookie` that arrived with the report. */
  readonly cookies: readonly string[]
  /** Requests a URL or a path below the mount. */
  get(path: string, headers?: Readonly<Record<string, string>>): Promise<AppAnswer>
  /** Sends this text in a form. @returns what the app received; undefined if it does not recognize our secret */
  echo(text: string): Promise<string | undefined>
  /** Sends a form to a path below the mount. */
  post(path: string, form: readonly (readonly [name: string, value: string])[]): Promise<AppAnswer>
}

/**
 * How bad a finding is. An `error` breaks requests or security, a `warning` probably does, and a `note` is worth a
 * look.
 */
export type Level = 'error' | 'warning' | 'note'

/** A mistake that a check found. */
export interface CheckFinding {
  readonly level: Level
  /** The mistake, with the values that show it. */
  readonly message: string
  /** The line or command that mends it. */
  readonly fix: string
}

/** A finding with the id of its check. */
export interface Diagnosis extends CheckFinding {
  readonly check: string
}

/** Something stands between the checks and the server, so that no further request would show anything else. */
export class StoppedError extends Error {
  override readonly name = 'StoppedError'
  readonly diagnosis: Diagnosis

  constructor(diagnosis: Diagnosis, cause?: unknown) {
    super(diagnosis.message, { cause })
    this.diagnosis = diagnosis
  }
}

/** The result of a check: `false` or `undefined` stands for no finding. */
export type Found = CheckFinding | false | undefined | readonly Found[]

/** Versions that must fit together. */
export interface Versions {
  /** Of Node, without the `v`. */
  readonly node: string
  /** Of better-sqlite3; undefined if it is not installed. */
  readonly sqlite: string | undefined
}

/** The subject of every check: the options and the machine. */
export interface Subject {
  readonly options: Options
  readonly versions: Versions
  /** Epoch seconds. */
  now(): number
}

/** A subject with the database. */
export interface StoredSubject extends Subject {
  readonly database: Database
  /** The pool of `database`, with the names of the host, for its user table. */
  readonly hostKnex: Knex
}

/** A subject with the running server. */
export interface MountedSubject extends Subject {
  readonly mount: Mount
}

/** One question about a server. */
export interface Check<S extends Subject> {
  /** Kebab-case, in JSON and in the documentation. */
  readonly id: string
  /** The statement that holds if the check finds nothing. */
  readonly title: string
  run(subject: S): Found | Promise<Found>
}

export const error = (message: string, fix: string): CheckFinding => ({ level: 'error', message, fix })
export const warning = (message: string, fix: string): CheckFinding => ({ level: 'warning', message, fix })
export const note = (message: string, fix: string): CheckFinding => ({ level: 'note', message, fix })
