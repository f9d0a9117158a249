import { leftSecret } from '../options/development.ts'
import type { Options } from '../options/options.ts'
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
  const place = error instanceof SealedError ? secretFileOf(options, error.sealed) : undefined
  return place === undefined || !(error instanceof Error) ? error : new Error(`${error.message}: ${place}`)
}
