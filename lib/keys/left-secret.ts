import { leftSecret } from '../options/development.ts'
import type { Options } from '../options/options.ts'
import { HostError } from '../protocol/problem.ts'
import { openJwk, SealedError } from './sealed-jwk.ts'

/**
 * Where the secret is with which something was encrypted, if it is the one of development.
 *
 * @example secretFileOf(options, sealed) // 'it was encrypted with the secret in .latchkey-secret'
 */
export const secretFileOf = ({ database }: Pick<Options, 'database'>, sealed: string): string | undefined => {
  const left = leftSecret(database.knex)
  const opens = left !== undefined && openJwk([left.secret], sealed) !== undefined
  return opens ? `it was encrypted with the secret in ${left.file}` : undefined
}

/** The error of a start, with the file that has the missing secret. */
export const namingSecretFile = (error: unknown, options: Pick<Options, 'database'>): unknown => {
  if (!(error instanceof SealedError)) return error
  const place = secretFileOf(options, error.sealed)
  return place === undefined ? error : new HostError(error.problem, { fix: `${error.fix}: ${place}` })
}
